import { constants, openSync } from 'node:fs';
import { type Logger, pino, stdTimeFunctions } from 'pino';
import { printable } from '../../../base/printable.js';
import { takeWarnings } from '../../warnings.js';
import { EventLog } from '../event-log.js';
import type { LogLevel } from './log-level.js';

/**
 * A logger that writes one line per event to stderr, synchronously, so that nothing is lost in a crash: JSON, or text
 * on a terminal. Lines that stderr does not accept in reasonable time are dropped and counted. `role`: part of the
 * system, e.g. "worker". Node's own warnings, of this thread and of those that start later, are logged, too.
 */
export function createLog(level: LogLevel, role: string): Logger {
  // Also makes Node open a pipe or socket so that writing fails instead of blocking.
  const { isTTY } = process.stderr;
  const lines = linesTo(isTTY ? terminalThatNeverWaits() : STDERR, (count) =>
    log.error({ lines: count }, `${count} log lines were dropped: stderr took none`),
  );
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
  const events = new EventLog(log);
  takeWarnings(({ thread, name, message }) =>
    events.say('warn', { thread, name }, message, `${thread} ${name}`),
  );
  return log;
}

const STDERR = 2;

/**
 * The terminal of stderr, opened so that writing fails instead of blocking: after Ctrl-S, or while the reader of a
 * pseudo-terminal stalls. Node itself would block. If it cannot be reopened, plain stderr.
 */
function terminalThatNeverWaits(): number {
  try {
    return openSync(`/dev/fd/${STDERR}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return STDERR;
  }
}

/** Limit on text waiting for room; later lines are dropped. */
const MOST_WAITING_BYTES = 1 << 20;
const RETRY_MS = 50;
/** Time that the end of the process may wait for room. */
const LAST_MS = 500;

/**
 * Writes lines synchronously if there is room, so that nothing is lost in a crash, and never blocks: a stalled reader
 * or a full disk stops no thread. Other lines wait, then are dropped; `dropped`: called with their number when there is
 * room again.
 */
function linesTo(fd: number, dropped: (lines: number) => void) {
  /** Until then a full pipe is waited for. */
  let patientMs = 0;
  let count = 0;
  let retry: NodeJS.Timeout | undefined;
  const lines = pino.destination({
    ...{ dest: fd, sync: true, maxLength: MOST_WAITING_BYTES },
    retryEAGAIN: () => performance.now() < patientMs,
  });
  const last = () => {
    patientMs = performance.now() + LAST_MS;
    lines.write('');
  };
  lines.on('drop', () => count++);
  lines.on('error', () => {
    if (retry !== undefined) return;
    process.on('exit', last);
    // An empty line flushes buffered lines.
    retry = setInterval(() => lines.write(''), RETRY_MS).unref();
  });
  lines.on('drain', () => {
    clearInterval(retry);
    retry = undefined;
    process.off('exit', last);
    const lost = count;
    count = 0;
    if (lost > 0) dropped(lost);
  });
  return lines;
}

/** A line of the log for a terminal: time, level, message, and other fields. */
export function readableLine(json: string): string {
  const { level, time, role, pid, msg = '', ...rest } = JSON.parse(json);
  const facts = Object.entries(rest).map(([key, value]) => `${key}=${shown(value)}`);
  const line = [String(time).slice(11, 23), String(level).toUpperCase().padEnd(5), `${role}:`, msg, ...facts];
  return printable(line.join(' '));
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /[\s"]/.test(text) ? JSON.stringify(text) : text;
}
