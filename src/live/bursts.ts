import { REAL_TIME } from '../base/world/real-time.js';
import type { Time } from '../base/world/time.js';

/** So often the same is said of a thing within a minute, and so much in all. */
const MOST_OF_A_LINE = 3;
const MOST_LINES = 20;
/** So many lines wait for the end of the minute; of more, the latest. */
const MOST_HELD = 6;
const MINUTE_MS = 60_000;

/**
 * Keeps a log readable where something comes and goes again and again: what has been said of it a few times is said once a
 * minute from then on. After that minute at the latest, the last line about a thing is how it is.
 */
export class Bursts {
  private readonly bursts = new Map<string, Burst>();

  constructor(private readonly time: Time = REAL_TIME) {}

  /** Calls `write` with `line`; now, or when the minute is over with how often it was said and held back. */
  say(thing: string, line: string, write: (line: string) => void): void {
    const burst = this.bursts.get(thing) ?? this.begin(thing);
    const said = burst.said.get(line) ?? 0;
    if (said < MOST_OF_A_LINE && burst.lines < MOST_LINES) {
      release(burst);
      burst.said.set(line, said + 1);
      burst.lines++;
      write(line);
      return;
    }
    const times = (burst.held.get(line)?.times ?? 0) + 1;
    // The latest is the last one.
    burst.held.delete(line);
    burst.held.set(line, { times, write });
    const [oldest] = burst.held;
    if (burst.held.size <= MOST_HELD || oldest === undefined) return;
    burst.held.delete(oldest[0]);
    burst.dropped += oldest[1].times;
  }

  private begin(thing: string): Burst {
    const burst: Burst = { lines: 0, said: new Map(), held: new Map(), dropped: 0 };
    this.bursts.set(thing, burst);
    const timer = this.time.every(MINUTE_MS, () => {
      if (burst.held.size === 0) {
        timer.cancel();
        this.bursts.delete(thing);
        return;
      }
      // These wait for the next minute if they are said again.
      burst.said = new Map([...burst.held.keys()].map((line) => [line, MOST_OF_A_LINE]));
      burst.lines = burst.dropped > 0 ? MOST_LINES : 0;
      release(burst);
    });
    timer.unref();
    return burst;
  }
}

interface Burst {
  /** Written since the minute began. */
  lines: number;
  /** How often each line was written. */
  said: Map<string, number>;
  /** What is to be written at the end of the minute, in the order in which it was said last. */
  readonly held: Map<string, { readonly times: number; readonly write: (line: string) => void }>;
  /** How often something was said that is not to be written at all. */
  dropped: number;
}

function release(burst: Burst): void {
  for (const [line, { times, write }] of burst.held) {
    const often = times === 1 ? '' : ` (${times} times in the last minute)`;
    const others = burst.dropped === 0 ? '' : ` (${burst.dropped} other lines are left out)`;
    burst.dropped = 0;
    write(`${line}${often}${others}`);
  }
  burst.held.clear();
}
