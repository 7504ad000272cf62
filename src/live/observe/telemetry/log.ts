import { constants, openSync, writeSync } from 'node:fs';
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
  const fd = isTTY ? terminalThatNeverWaits() : STDERR;
  const lines = new LineWriter((bytes) => writeSync(fd, bytes));
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

const STDERR = 2;

/**
 * The terminal of stderr, opened such that writing fails where it would have to wait: after Ctrl-S, or while the reader of a
 * pseudo-terminal stalls. Node itself has it wait. Where it cannot be opened once more, it is stderr as it is.
 */
function terminalThatNeverWaits(): number {
  try {
    return openSync(`/dev/fd/${STDERR}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return STDERR;
  }
}
