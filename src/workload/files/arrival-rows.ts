import { EscapementError } from '../../base/errors.js';
import { checkFields, isBlank, type LayoutOf, LENGTH_COLUMN, type Table } from './layout.js';

/** Mapping from a `model_id` to the index of a model. */
export interface ModelIds {
  /** Whole numbers below this are indices; 0 when `resolve` must see every id. */
  readonly indices: number;
  /** Index of the model, or −1. */
  resolve(id: string): number;
  /** Explanation for an unknown id, e.g. "there are 15 models". */
  hint(id: string): string;
}

/** Limit of the request table. */
const MOST_LENGTH = 2 ** 31 - 1;
const ZERO = 0x30;
const COMMA = 0x2c;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const QUOTE = 0x22;
const SPACE = 0x20;
const DELETE = 0x7f;

/** Limits on the lengths of requests. */
interface LengthLimits {
  /** By model: longest input; Infinity: lengths are ignored. */
  readonly longest: readonly number[];
  /** Cap on lengths: longer ones count as this long. */
  readonly max: number;
}

/**
 * Rows of `arrival_ns,model_id,slo_ns`, optionally with a `length`, decoded from bytes into columns, a block at a time.
 * The CSV reader allocates four objects per row and takes five times as long, more than simulating the request, so it
 * only reads rows that are not plain digits and names.
 */
export class ArrivalRows {
  /** Number of rows of the last block. */
  length = 0;
  timeNs = new Float64Array(0);
  model = new Int32Array(0);
  sloNs = new Float64Array(0);
  /** True if rows end with the length of the input; and those lengths, 0 if a row has none. */
  readonly hasLengths: boolean;
  lengths = new Int32Array(0);

  private readonly table: Table<LayoutOf<'arrivals'>>;
  private readonly ids: ModelIds;
  private readonly limits: LengthLimits;
  /** The header is line 1. */
  private line = 2;
  private lastNs = 0;
  /** Next byte of the block. */
  private position = 0;

  constructor(
    table: Table<LayoutOf<'arrivals'>>,
    ids: ModelIds,
    limits: LengthLimits = { longest: [], max: Number.POSITIVE_INFINITY },
  ) {
    this.table = table;
    this.hasLengths = table.layout.lengths;
    this.ids = ids;
    this.limits = limits;
  }

  /**
   * Decodes a block of whole lines below the header, up to the first arrival at `limitNs` or later; true if there was
   * one. Throws `E_TRACE_VALUE`, `E_TRACE_ORDER` and `E_UNKNOWN_MODEL` with the line.
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
      if (length > this.limits.max) length = this.limits.max;
      const usual = slo > 0 && time >= this.lastNs && (!this.hasLengths || this.isLength(length, model));
      if (!usual || time > Number.MAX_SAFE_INTEGER || slo > Number.MAX_SAFE_INTEGER) {
        this.position = block.indexOf(NEWLINE, begin) + 1;
        const [row] = this.table.rowsOf(block.subarray(begin, this.position), this.line);
        if (isBlank(row!)) {
          this.line++;
          continue;
        }
        [time, model, slo, length] = this.parse(row!);
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

  /** Reads the next id; returns the index of its model, or −1 if there is none. */
  private modelId(block: Uint8Array): number {
    const begin = this.position;
    const index = this.number(block, COMMA);
    if (index >= 0 && index < this.ids.indices) return index;
    const end = block.indexOf(COMMA, begin);
    this.position = end + 1;
    const name = plainName(block, begin, end);
    return name === null ? -1 : this.ids.resolve(name);
  }

  /** Reads digits up to `terminator`, and skips that; −1 for anything else. */
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

  /** Strict parser of one row: accepts all that CSV allows, and explains errors. */
  private parse(fields: readonly string[]): [number, number, number, number] {
    checkFields(fields, this.table.header.length, { file: this.table.file, line: this.line });
    const [timeText, id, sloText, lengthText] = fields as [string, string, string, string];
    const time = this.wholeNumber(timeText, 0, 'arrival_ns');
    const slo = this.wholeNumber(sloText, 1, 'slo_ns');
    if (time < this.lastNs) {
      const what = `${time} comes after ${this.lastNs}; sort the rows by arrival_ns`;
      throw this.problem('E_TRACE_ORDER', what, 'arrival_ns');
    }
    if (id === '')
      throw this.problem('E_TRACE_VALUE', 'is empty: expected the name or index of a model', 'model_id');
    const model = this.ids.resolve(id);
    if (model < 0)
      throw this.problem('E_UNKNOWN_MODEL', `no model "${id}"; ${this.ids.hint(id)}`, 'model_id');
    return [time, model, slo, this.hasLengths ? this.lengthOf(lengthText, model) : 0];
  }

  private isLength(length: number, model: number): boolean {
    return length > 0 && length <= MOST_LENGTH && !(length > this.limits.longest[model]);
  }

  private lengthOf(text: string, model: number): number {
    const { longest, max } = this.limits;
    const most = longest[model] ?? Number.POSITIVE_INFINITY;
    if (['', '0'].includes(text) && most === Number.POSITIVE_INFINITY) return 0;
    const length = /^\d{1,10}$/.test(text) ? Math.min(max, Number(text)) : Number.NaN;
    if (this.isLength(length, model)) return length;
    const what =
      length > most
        ? `${length} is more than the model takes, whose profile ends at ${most}: set length.max to count longer inputs as shorter ones`
        : `"${text}" is not a length, a whole number from 1 on`;
    throw this.problem('E_TRACE_VALUE', what, LENGTH_COLUMN);
  }

  private wholeNumber(text: string, least: number, key: string): number {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= least) return value;
    const what =
      value >= least
        ? `${text} is more than ${Number.MAX_SAFE_INTEGER} ns, 104 days: count from the start of the trace`
        : `"${text}" is not a whole number of ns, ${least} or more`;
    throw this.problem('E_TRACE_VALUE', what, key);
  }

  private problem(code: 'E_TRACE_VALUE' | 'E_TRACE_ORDER' | 'E_UNKNOWN_MODEL', what: string, key?: string) {
    const place = { file: this.table.file, line: this.line };
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

/** A name without quoting; null if the strict parser must handle it. TextDecoder is half as fast on short texts. */
function plainName(block: Uint8Array, begin: number, end: number): string | null {
  if (begin >= end || block[begin] === SPACE || block[end - 1] === SPACE) return null;
  let text = '';
  for (let i = begin; i < end; i++) {
    const byte = block[i];
    if (byte < SPACE || byte === QUOTE || byte >= DELETE) return null;
    text += String.fromCharCode(byte);
  }
  return text;
}

/** Reads all rows of a table of arrivals, whatever its models, and returns the names of these. `use` gets each block. */
export async function readArrivals(
  table: Table<LayoutOf<'arrivals'>>,
  use: (rows: ArrivalRows) => void,
): Promise<string[]> {
  const models = new Map<string, number>();
  const resolve = (id: string) => models.get(id) ?? models.set(id, models.size).size - 1;
  const rows = new ArrivalRows(table, { indices: 0, resolve, hint: () => '' });
  const decode = (lines: Uint8Array) => {
    rows.decode(lines, Number.POSITIVE_INFINITY);
    if (rows.length > 0) use(rows);
  };
  try {
    decode(table.first);
    for await (const lines of table.rest) decode(lines);
  } finally {
    await table.rest.return();
  }
  return [...models.keys()];
}
