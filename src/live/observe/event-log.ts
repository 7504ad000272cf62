import type { Logger } from 'pino';
import { REAL_TIME } from '../../base/world/real-time.js';
import type { Time } from '../../base/world/time.js';
import { Bursts } from '../bursts.js';

type Level = 'info' | 'warn' | 'error';

/** Writes events to a log that stays readable: those that recur again and again are written once a minute. */
export class EventLog {
  private readonly bursts: Bursts;

  constructor(
    private readonly log: Pick<Logger, Level>,
    time: Time = REAL_TIME,
  ) {
    this.bursts = new Bursts(time);
  }

  /** Logs an event of a subject; within a minute, the last line about a subject is its latest event. */
  say(level: Level, fields: object, text: string, subject: string): void {
    this.bursts.say(subject, text, (line) => this.log[level](fields, line));
  }
}
