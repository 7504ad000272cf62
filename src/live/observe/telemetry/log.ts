import { constants, openSync, writeSync } from 'node:fs';
import { type Logger, pino, stdTimeFunctions } from 'pino';
import { printable } from '../../../base/printable.js';
import { Bursts } from '../../bursts.js';
import { takeWarnings } from '../../warnings.js';
import type { LogLevel } from './log-level.js';

/**
 * A logger that writes one line per event to stderr, synchronously, so that nothing is lost in a crash: JSON, or text
 * on a terminal. Lines that stderr does not accept in reasonable time are dropped and counted. `role`: part of the
 * system, e.g. "worker". Node's own warnings, of this thread and of those that start later, are logged, too.
 */
export function createLog(level: LogLevel, role: string): Logger {
  // Also makes Node open a pipe or socket so that writing fails instead of blocking.
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
  const bursts = new Bursts();
  takeWarnings(({ thread, name, message }) =>
    bursts.say(`${thread} ${name}`, message, (line) => log.warn({ thread, name }, line)),
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
 * or a full disk stops no thread. Other lines wait, then are dropped and counted.
 */
export class LineWriter {
  /** Called with the number of dropped lines when there is room again. */
  onDropped: (lines: number) => void = () => {};
  private readonly waiting: Buffer[] = [];
  private waitingBytes = 0;
  private dropped = 0;
  /** Set while lines wait. */
  private retry: NodeJS.Timeout | null = null;
  private readonly last = () => this.finish();

  /** `take` writes some of the bytes and returns how many. It throws if none can be written now. */
  constructor(private readonly take: (bytes: Buffer) => number) {}

  /** `line`: including its end. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    const isFirst = this.waiting.length === 0;
    if (!isFirst && this.waitingBytes + bytes.length > MOST_WAITING_BYTES) {
      this.dropped++;
      return;
    }
    this.waiting.push(bytes);
    this.waitingBytes += bytes.length;
    if (this.flush() === null) this.flowed();
    else this.wait();
  }

  /** Writes as much as there is room for. Returns null, or the error that stops it. */
  private flush(): unknown {
    const { waiting } = this;
    try {
      while (waiting.length > 0) {
        const [first] = waiting;
        const bytes = this.take(first);
        this.waitingBytes -= bytes;
        if (bytes < first.length) waiting[0] = first.subarray(bytes);
        else waiting.shift();
      }
      return null;
    } catch (error) {
      return error;
    }
  }

  private flowed(): void {
    const { dropped } = this;
    if (this.retry !== null) {
      clearInterval(this.retry);
      this.retry = null;
      process.off('exit', this.last);
    }
    this.dropped = 0;
    if (dropped > 0) this.onDropped(dropped);
  }

  private wait(): void {
    if (this.retry !== null) return;
    process.on('exit', this.last);
    this.retry = setInterval(() => {
      if (this.flush() === null) this.flowed();
    }, RETRY_MS);
    this.retry.unref();
  }

  /** At the end of the process: waits briefly for a slow reader. */
  private finish(): void {
    const untilMs = performance.now() + LAST_MS;
    const sleeper = new Int32Array(new SharedArrayBuffer(4));
    for (;;) {
      const error = this.flush();
      if (error === null) this.flowed();
      if (!isFull(error) || performance.now() > untilMs) return;
      Atomics.wait(sleeper, 0, 0, 10);
    }
  }
}

/** True if a pipe is full because its reader has not read. */
function isFull(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'EAGAIN';
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
