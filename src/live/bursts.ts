import { REAL_TIME } from '../base/world/real-time.js';
import type { Time } from '../base/world/time.js';

/** Limits per minute: repetitions of a line about one subject, and lines in total. */
const MOST_OF_A_LINE = 3;
const MOST_LINES = 20;
/** Number of lines held until the end of the minute; the latest are kept. */
const MOST_HELD = 6;
const MINUTE_MS = 60_000;

/**
 * Keeps a log readable where something comes and goes again and again: after a few repetitions, lines about it are
 * written once a minute. After that minute at the latest, the last line about a subject is its current state.
 */
export class Bursts {
  private readonly bursts = new Map<string, Burst>();

  constructor(private readonly time: Time = REAL_TIME) {}

  /** Calls `write` with `line`: now, or at the end of the minute with the number of repetitions held back. */
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
    // Moves the latest to the end.
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
      // If repeated, these wait for the next minute.
      burst.said = new Map([...burst.held.keys()].map((line) => [line, MOST_OF_A_LINE]));
      burst.lines = burst.dropped > 0 ? MOST_LINES : 0;
      release(burst);
    });
    timer.unref();
    return burst;
  }
}

interface Burst {
  /** Number written since the minute began. */
  lines: number;
  /** By line: number of times written. */
  said: Map<string, number>;
  /** Lines to write at the end of the minute, in order of their last occurrence. */
  readonly held: Map<string, { readonly times: number; readonly write: (line: string) => void }>;
  /** Number of lines that are not written at all. */
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
