import { destination, type Logger, pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from './log-level.js';

/**
 * A logger that writes one line of JSON an event to stderr, at once, so that nothing is lost in a crash.
 * `role` says which part of the system speaks, e.g. "worker".
 */
export function createLog(level: LogLevel, role: string): Logger {
  return pino(
    {
      level,
      base: { role, pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (name) => ({ level: name }) },
    },
    destination({ fd: 2, sync: true }),
  );
}
