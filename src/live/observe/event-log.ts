import type { Logger } from 'pino';
import { REAL_TIME } from '../../base/world/real-time.js';
import type { Time } from '../../base/world/time.js';

type Level = 'info' | 'warn' | 'error';

/** Limit on different lines about one subject that are kept apart in a minute. */
const MOST_LINES = 20;
const MINUTE_MS = 60_000;

/** Lines about a subject since its minute began, in order of their last occurrence. */
interface Minute {
  lines: Map<string, Line>;
  /** Number of occurrences that are not written at all. */
  dropped: number;
}

interface Line {
  /** Number of occurrences to tell at the end of the minute. */
  readonly times: number;
  readonly level: Level;
  readonly fields: object;
}

/**
 * Writes events to a log that stays readable: each line once a minute. The first time it is written at once; if it
 * recurs, it is written at the end of the minute, with how often. By then the last line about a subject is its latest
 * event.
 */
export class EventLog {
  private readonly minutes = new Map<string, Minute>();

  constructor(
    private readonly log: Pick<Logger, Level>,
    private readonly time: Time = REAL_TIME,
  ) {}

  /** Logs an event of a subject. */
  say(level: Level, fields: object, text: string, subject: string): void {
    const minute = this.minutes.get(subject) ?? this.begin(subject);
    const { lines } = minute;
    const before = lines.get(text);
    const isNew = before === undefined && lines.size < MOST_LINES;
    const times = isNew ? 0 : (before?.times ?? 0) + 1;
    // Moves it to the end.
    lines.delete(text);
    lines.set(text, { times, level, fields });
    if (isNew) this.log[level](fields, text);
    const [oldest] = lines;
    if (lines.size <= MOST_LINES || oldest === undefined) return;
    lines.delete(oldest[0]);
    minute.dropped += oldest[1].times;
  }

  private begin(subject: string): Minute {
    const minute: Minute = { lines: new Map(), dropped: 0 };
    this.minutes.set(subject, minute);
    const timer = this.time.every(MINUTE_MS, () => {
      const lines = [...minute.lines];
      if (lines.every(([, { times }]) => times === 0)) {
        timer.cancel();
        this.minutes.delete(subject);
        return;
      }
      const due = lines.filter(([, { times }], i) => times > 0 || i === lines.length - 1);
      minute.lines = new Map(due.map(([text, line]) => [text, { ...line, times: 0 }]));
      for (const [text, { times, level, fields }] of due) {
        const often = times === 0 ? '' : ` (${times === 1 ? 'once' : `${times} times`} in the last minute)`;
        const others = minute.dropped === 0 ? '' : ` (${minute.dropped} other lines are left out)`;
        minute.dropped = 0;
        this.log[level](fields, `${text}${often}${others}`);
      }
    });
    timer.unref();
    return minute;
  }
}
