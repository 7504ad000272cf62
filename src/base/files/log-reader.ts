import { closeSync, openSync, readSync } from 'node:fs';
import { EscapementError } from '../errors.js';
import { inputPath } from './input-path.js';

const CHUNK_BYTES = 1 << 20;

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

  private readonly lines = this.read();
  private readonly names: readonly string[];
  /** By requested column: its index in the file, or −1. */
  private readonly places: readonly number[];

  constructor(
    readonly path: string,
    required: readonly string[],
    optional: readonly string[] = [],
  ) {
    const wanted = [...required, ...optional];
    this.values = new Float64Array(wanted.length).fill(Number.NaN);
    const header = this.nextLine();
    if (header === undefined) throw this.problem('is empty; run the experiment again');
    this.names = header.split('\t');
    const missing = required.filter((name) => !this.has(name));
    if (missing.length > 0)
      throw this.problem(`has no column ${missing.join(', ')}; run the experiment again`);
    this.places = wanted.map((name) => this.names.indexOf(name));
  }

  has(column: string): boolean {
    return this.names.includes(column);
  }

  /** Advances to the next row; false at the end, where the file is closed. */
  next(): boolean {
    const text = this.nextLine();
    if (text === undefined) return false;
    const fields = text.split('\t');
    if (fields.length < this.names.length) throw this.problem('ends before its last column');
    for (let i = 0; i < this.places.length; i++) {
      const field = fields[this.places[i]];
      if (field === undefined) continue;
      const value = field.trim() === '' ? Number.NaN : Number(field);
      if (!Number.isFinite(value)) throw this.problem(`'${field}' is not a number`);
      this.values[i] = value;
    }
    return true;
  }

  close(): void {
    this.lines.return();
  }

  private nextLine(): string | undefined {
    const { value, done } = this.lines.next();
    if (done === true) return undefined;
    this.line++;
    return value;
  }

  private *read(): Generator<string, void, void> {
    const fd = this.open();
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let rest = '';
    try {
      for (let count = readSync(fd, chunk); count > 0; count = readSync(fd, chunk)) {
        const lines = (rest + chunk.toString('latin1', 0, count)).split('\n');
        rest = lines.pop() as string;
        yield* lines;
      }
    } finally {
      closeSync(fd);
    }
    if (rest === '') return;
    this.line++;
    throw this.problem('is cut off in the middle of a line');
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
