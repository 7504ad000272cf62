import { EscapementError } from '../../base/errors.js';
import { ARRIVALS_HEADER, LENGTH_COLUMN } from './layout.js';

/** How a `model_id` becomes the index of a model. */
export interface ModelIds {
  /** Whole numbers below this are indices; 0 when `resolve` must see every id. */
  readonly indices: number;
  /** Position among the models, or −1. */
  resolve(id: string): number;
  /** What to say of an id that is not known, e.g. "there are 15 models". */
  readonly hint: string;
}

/** As much as the request table holds. */
const MOST_LENGTH = 2 ** 31 - 1;
const ZERO = 0x30;
const COMMA = 0x2c;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const UTF8 = new TextDecoder();

/**
 * Rows of `arrival_ns,model_id,slo_ns`, decoded from bytes into columns, a block at a time. A general CSV
 * reader makes four objects a row and takes five times as long, more than the simulation of the request.
 */
export class ArrivalRows {
  /** The rows of the last block. */
  length = 0;
  timeNs = new Float64Array(0);
  model = new Int32Array(0);
  sloNs = new Float64Array(0);
  /** Whether rows end with the length of the input, and those lengths. */
  hasLengths = false;
  lengths = new Int32Array(0);

  private readonly file: string;
  private readonly ids: ModelIds;
  private readonly longest: readonly number[];
  /** The header is line 1. */
  private line = 2;
  private lastNs = 0;
  /** Next byte of the block. */
  private position = 0;

  /** `longest`: the longest input that each model takes. */
  constructor(file: string, ids: ModelIds, longest: readonly number[] = []) {
    this.file = file;
    this.ids = ids;
    this.longest = longest;
  }

  /**
   * Decodes a block of whole lines, up to the first arrival at `limitNs` or later; true: there was one.
   * Throws `E_TRACE_VALUE`, `E_TRACE_ORDER` and `E_UNKNOWN_MODEL` with the line.
   */
  decode(block: Uint8Array, limitNs: number): boolean {
    this.reserve(block.length);
    this.length = 0;
    this.position = 0;
    while (this.position < block.length) {
      const begin = this.position;
      let time = this.number(block, COMMA);
      let model = time < 0 ? -1 : this.modelId(block);
      let slo = model < 0 ? -1 : this.number(block, this.hasLengths ? COMMA : NEWLINE);
      let length = !this.hasLengths || slo < 0 ? 0 : this.number(block, NEWLINE);
      const usual = slo > 0 && time >= this.lastNs && (!this.hasLengths || this.isLength(length, model));
      if (!usual || time > Number.MAX_SAFE_INTEGER || slo > Number.MAX_SAFE_INTEGER) {
        this.position = block.indexOf(NEWLINE, begin) + 1;
        const text = UTF8.decode(block.subarray(begin, this.position)).trim();
        if (text === '') {
          this.line++;
          continue;
        }
        [time, model, slo, length] = this.parse(text);
      }
      if (time >= limitNs) return true;
      this.lastNs = time;
      this.timeNs[this.length] = time;
      this.model[this.length] = model;
      if (this.hasLengths) this.lengths[this.length] = length;
      this.sloNs[this.length++] = slo;
      this.line++;
    }
    return false;
  }

  /** Position of the model whose index or name comes next; −1 if there is none. */
  private modelId(block: Uint8Array): number {
    const begin = this.position;
    const index = this.number(block, COMMA);
    if (index >= 0 && index < this.ids.indices) return index;
    const end = block.indexOf(COMMA, begin);
    this.position = end + 1;
    // The strict reading tries again in UTF-8.
    return end < 0 ? -1 : this.ids.resolve(latin1(block, begin, end));
  }

  /** Digits up to `terminator`, which is passed over too; −1 where there is anything else. */
  private number(block: Uint8Array, terminator: number): number {
    const begin = this.position;
    let position = begin;
    let byte = block[position];
    let value = 0;
    while (byte >= ZERO && byte <= ZERO + 9) {
      value = value * 10 + (byte - ZERO);
      byte = block[++position];
    }
    const digits = position - begin;
    if (byte === RETURN && terminator === NEWLINE) byte = block[++position];
    this.position = position + 1;
    return digits > 0 && byte === terminator ? value : -1;
  }

  /** The strict reading of one row: accepts names of models, and explains what is wrong. */
  private parse(text: string): [number, number, number, number] {
    const fields = text.split(',').map((field) => field.trim());
    const columns = ARRIVALS_HEADER.length + (this.hasLengths ? 1 : 0);
    if (fields.length !== columns) {
      const what = `has ${fields.length} fields instead of ${columns}; is the file cut off?`;
      throw this.problem('E_TRACE_VALUE', what);
    }
    const time = this.wholeNumber(fields[0], 0, 'arrival_ns');
    const slo = this.wholeNumber(fields[2], 1, 'slo_ns');
    if (time < this.lastNs) {
      const what = `${time} comes after ${this.lastNs}; sort the rows by arrival_ns`;
      throw this.problem('E_TRACE_ORDER', what, 'arrival_ns');
    }
    const model = this.ids.resolve(fields[1]);
    if (model < 0)
      throw this.problem('E_UNKNOWN_MODEL', `no model "${fields[1]}"; ${this.ids.hint}`, 'model_id');
    return [time, model, slo, this.hasLengths ? this.lengthOf(fields[3], model) : 0];
  }

  private isLength(length: number, model: number): boolean {
    return length > 0 && length <= MOST_LENGTH && !(length > this.longest[model]);
  }

  private lengthOf(text: string, model: number): number {
    const length = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (this.isLength(length, model)) return length;
    const what =
      length > this.longest[model]
        ? `${length} is more than the model takes, whose profile ends at ${this.longest[model]}`
        : `"${text}" is not a length, a whole number from 1 on`;
    throw this.problem('E_TRACE_VALUE', what, LENGTH_COLUMN);
  }

  private wholeNumber(text: string, least: number, key: string): number {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= least) return value;
    throw this.problem('E_TRACE_VALUE', `"${text}" is not a whole number of ns, ${least} or more`, key);
  }

  private problem(code: 'E_TRACE_VALUE' | 'E_TRACE_ORDER' | 'E_UNKNOWN_MODEL', what: string, key?: string) {
    const place = { file: this.file, line: this.line };
    return new EscapementError(code, what, key === undefined ? place : { ...place, key });
  }

  private reserve(bytes: number): void {
    // The shortest row, "0,0,1\n", has six bytes; blank lines are no rows.
    const rows = Math.ceil(bytes / 6);
    if (rows <= this.timeNs.length) return;
    this.timeNs = new Float64Array(rows);
    this.model = new Int32Array(rows);
    this.sloNs = new Float64Array(rows);
    this.lengths = new Int32Array(this.hasLengths ? rows : 0);
  }
}

/** A decoder would take twice as long for texts as short as names. */
function latin1(block: Uint8Array, begin: number, end: number): string {
  let text = '';
  for (let i = begin; i < end; i++) text += String.fromCharCode(block[i]);
  return text;
}
