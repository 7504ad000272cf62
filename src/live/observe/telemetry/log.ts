import { writeSync } from 'node:fs';
import { type Logger, pino, stdTimeFunctions } from 'pino';
import { monotonicNs } from '../../../base/clock/clock.js';
import { Repeats } from '../../repeats.js';
import { takeWarnings } from '../../warnings.js';
import { LineWriter } from './line-writer.js';
import type { LogLevel } from './log-level.js';
import { readableLine } from './readable-line.js';

/**
 * A logger that writes one line an event to stderr, at once, so that nothing is lost in a crash: JSON, or on a terminal
 * words. Lines that stderr does not take within reason are dropped and counted. `role` says which part of the system speaks,
 * e.g. "worker". Node's own warnings, of this thread and of those that start later, become lines of it, too.
 */
export function createLog(level: LogLevel, role: string): Logger {
  // Also has Node open a pipe or socket such that writing fails where it would have to wait.
  const { isTTY } = process.stderr;
  const lines = new LineWriter((bytes) => writeSync(2, bytes));
  const words = { write: (line: string) => lines.write(`${readableLine(line)}\n`) };
  const log = pino(
    {
      level,
      base: { role, pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (name) => ({ level: name }) },
    },
    isTTY ? words : lines,
  );
  lines.onDropped = (count) =>
    log.error({ lines: count }, `${count} log lines were dropped: stderr took none`);
  const repeats = new Repeats();
  takeWarnings(({ thread, name, message }) => {
    const times = repeats.toSay(`${thread} ${name} ${message}`, monotonicNs());
    if (times > 0) log.warn({ thread, name, times }, message);
  });
  return log;
}
