import { closeSync, openSync, readSync } from 'node:fs';
import { EscapementError } from '../errors.js';
import { inputPath } from './input-path.js';

const CHUNK_BYTES = 1 << 20;
const TAB = 9;
const NEWLINE = 10;
const MINUS = 45;
const ZERO = 48;
const NINE = 57;
/** Numbers with more digits may not fit into a double: they are left to `Number`. */
const MOST_DIGITS = 15;

/**
 * Reads a log of numbers in columns, a line at a time, in constant memory. Columns are found by name. Throws
 * `E_RESULTS` with file and line if the file is no such log.
 *
 * @example
 * const log = new LogReader('out/requests.tsv', ['t', 'latency']);
 * while (log.next()) sum += log.values[1];
 */
export class LogReader {
  /** Line of the current row, from 1. */
  line = 0;
  /** The current row: a value for each requested column; NaN for an optional one that is missing. */
  readonly values: Float64Array;

  private readonly fd: number;
  private buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  /** Part of the buffer that is read but not yet used. */
  private begin = 0;
  private end = 0;
  private ended = false;
  private readonly names: readonly string[];
  /** By column of the file: its index in `values`, or −1. */
  private readonly places: Int32Array;

  constructor(
    readonly path: string,
    required: readonly string[],
    optional: readonly string[] = [],
  ) {
    this.fd = this.open();
    const wanted = [...required, ...optional];
    this.values = new Float64Array(wanted.length).fill(Number.NaN);
    const newline = this.findLine();
    if (newline < 0) throw this.problem('is empty; run the experiment again');
    const names = this.text(this.begin, newline).split('\t');
    this.begin = newline + 1;
    const missing = required.filter((name) => !names.includes(name));
    if (missing.length > 0)
      throw this.problem(`has no column ${missing.join(', ')}; run the experiment again`);
    this.names = names;
    this.places = Int32Array.from(names, (name) => wanted.indexOf(name));
  }

  has(column: string): boolean {
    return this.names.includes(column);
  }

  /** Advances to the next row; false at the end, where the file is closed. */
  next(): boolean {
    const newline = this.findLine();
    if (newline < 0) {
      if (!this.ended) this.close();
      return false;
    }
    this.parse(newline);
    this.begin = newline + 1;
    return true;
  }

  close(): void {
    if (this.ended) return;
    this.ended = true;
    closeSync(this.fd);
  }

  private parse(end: number): void {
    const { places } = this;
    let at = this.begin;
    for (let column = 0; column < places.length; column++) {
      let stop = at;
      while (stop < end && this.buffer[stop] !== TAB) stop++;
      if (stop === end && column < places.length - 1) throw this.problem('ends before its last column');
      const place = places[column];
      if (place >= 0) this.values[place] = this.number(at, stop);
      at = stop + 1;
    }
  }

  /** Parses a field. Nearly all are integers, which need no string. */
  private number(begin: number, end: number): number {
    const { buffer } = this;
    const digits = buffer[begin] === MINUS ? begin + 1 : begin;
    let value = 0;
    for (let at = digits; at < end; at++) {
      const byte = buffer[at];
      if (byte < ZERO || byte > NINE || at - digits === MOST_DIGITS) return this.anyNumber(begin, end);
      value = value * 10 + (byte - ZERO);
    }
    if (digits === end) return this.anyNumber(begin, end);
    return digits === begin ? value : -value;
  }

  private anyNumber(begin: number, end: number): number {
    const text = this.text(begin, end);
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (!Number.isFinite(value)) throw this.problem(`'${text}' is not a number`);
    return value;
  }

  /** Index of the newline that ends the next line, whose number is then in `line`; −1 at the end. */
  private findLine(): number {
    if (this.ended) return -1;
    for (let from = this.begin; ; ) {
      const at = this.buffer.subarray(0, this.end).indexOf(NEWLINE, from);
      if (at >= 0) {
        this.line++;
        return at;
      }
      from = this.end - this.begin;
      if (!this.fill()) {
        if (this.end === 0) return -1;
        this.line++;
        throw this.problem('is cut off in the middle of a line');
      }
    }
  }

  /** Moves the rest of the buffer to its front and reads on; false at the end of the file. */
  private fill(): boolean {
    this.buffer.copyWithin(0, this.begin, this.end);
    this.end -= this.begin;
    this.begin = 0;
    if (this.end === this.buffer.length) this.buffer = Buffer.concat([this.buffer], this.end * 2);
    const count = readSync(this.fd, this.buffer, this.end, this.buffer.length - this.end, null);
    this.end += count;
    return count > 0;
  }

  private text(begin: number, end: number): string {
    return this.buffer.toString('utf8', begin, end);
  }

  private open(): number {
    try {
      return openSync(inputPath(this.path), 'r');
    } catch (error) {
      throw this.problem(`cannot be read (${error instanceof Error ? error.message : error})`);
    }
  }

  private problem(what: string): EscapementError {
    return new EscapementError('E_RESULTS', what, {
      file: this.path,
      ...(this.line > 1 ? { line: this.line } : {}),
    });
  }
}
