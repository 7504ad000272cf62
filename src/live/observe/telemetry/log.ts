import { writeSync } from 'node:fs';
import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino';
import { monotonicNs } from '../../../base/clock/clock.js';
import { Repeats } from '../../repeats.js';
import { takeWarnings } from '../../warnings.js';
import type { LogLevel } from './log-level.js';
import { readableLine } from './readable-line.js';

/**
 * A logger that writes one line an event to stderr, at once, so that nothing is lost in a crash: JSON, or on a terminal
 * words. `role` says which part of the system speaks, e.g. "worker". Node's own warnings, of this thread and of those that
 * start later, become lines of it, too.
 */
export function createLog(level: LogLevel, role: string): Logger {
  const log = pino(
    {
      level,
      base: { role, pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (name) => ({ level: name }) },
    },
    process.stderr.isTTY ? TERMINAL : jsonLines(),
  );
  const repeats = new Repeats();
  takeWarnings(({ thread, name, message }) => {
    const times = repeats.toSay(`${thread} ${name} ${message}`, monotonicNs());
    if (times > 0) log.warn({ thread, name, times }, message);
  });
  return log;
}

/** Most text that waits for room on a disk; what comes then is lost. */
const MOST_UNWRITTEN_BYTES = 1 << 20;

/** A full disk does not end the server: what cannot be written waits for a line that can. */
function jsonLines(): DestinationStream {
  const lines = destination({ fd: 2, sync: true, maxLength: MOST_UNWRITTEN_BYTES });
  lines.on('error', () => {});
  return lines;
}

const TERMINAL: DestinationStream = {
  write: (line) => {
    try {
      writeSync(2, `${readableLine(line)}\n`);
    } catch {
      // The terminal is gone; the server is not.
    }
  },
};
