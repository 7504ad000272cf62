import { toHalf } from '../half.js';
import { DATATYPES, type Datatype, TENSOR_ARRAYS } from '../model.js';
import { decimal, PART_DIGITS } from './decimal.js';

type NumberType = Exclude<Datatype, 'BYTES'>;

/** Numbers that are read before they go into the tensor, all at once: these stay in the fastest cache. */
const CHUNK = 1024;

const OPEN = 0x5b;
const CLOSE = 0x5d;
const COMMA = 0x2c;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const SPACE = 0x20;
const LETTER_E = 0x65;
/** Makes a letter a small one. */
const SMALL = 0x20;
/** More in an exponent is left to others. */
const EXPONENT_DIGITS = 4;

/**
 * The numbers of a JSON list, `bytes` from its `[` to its `]`, as a tensor: flat, or nested as `shape` says, in row-major order.
 * The same bytes that `JSON.parse` and `bytesOfJson` make of it, in a fraction of the time; null for all that is not
 * plain: they know what to do with it, or what is wrong.
 */
export function readNumberList(
  datatype: Datatype,
  shape: readonly number[],
  bytes: Uint8Array,
): Uint8Array | null {
  let count = 1;
  for (const size of shape) count *= size;
  // A shape alone gets no memory: each number is a digit at least, and a comma or bracket follows.
  if (datatype === 'BYTES' || !(count > 0 && 2 * count < bytes.length)) return null;
  // The end of a number is found without looking for the end of the bytes.
  if (bytes[bytes.length - 1] !== CLOSE) return null;
  return new ListReader(bytes, new Elements(datatype, count)).read(shape, count);
}

/** Reads strict JSON. */
class ListReader {
  private at = 0;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly elements: Elements,
  ) {}

  read(shape: readonly number[], count: number): Uint8Array | null {
    const isNested = shape.length > 1 && this.seesNested();
    const isRead = isNested ? this.nested(shape, 0) : this.row(count);
    return isRead && this.at === this.bytes.length ? this.elements.finish() : null;
  }

  private seesNested(): boolean {
    this.at = 1;
    this.skipSpace();
    const isNested = this.bytes[this.at] === OPEN;
    this.at = 0;
    return isNested;
  }

  private nested(shape: readonly number[], depth: number): boolean {
    if (depth === shape.length - 1) return this.row(shape[depth]);
    if (!this.takes(OPEN)) return false;
    for (let i = 0; i < shape[depth]; i++) {
      if (i > 0 && !this.takes(COMMA)) return false;
      if (!this.nested(shape, depth + 1)) return false;
    }
    return this.takes(CLOSE);
  }

  /** A list of so many numbers. */
  private row(count: number): boolean {
    const { elements } = this;
    if (!this.takes(OPEN)) return false;
    for (let i = 0; i < count; i++) {
      if (i > 0 && !this.takes(COMMA)) return false;
      const value = this.number();
      if (Number.isNaN(value) || !elements.add(value)) return false;
    }
    return this.takes(CLOSE);
  }

  private takes(byte: number): boolean {
    if (this.bytes[this.at] !== byte) this.skipSpace();
    return this.bytes[this.at++] === byte;
  }

  private skipSpace(): void {
    const { bytes } = this;
    let { at } = this;
    while (bytes[at] === SPACE || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
    this.at = at;
  }

  /**
   * NaN: there is none. One loop each for the first digits and for those after them, before the point and behind it: with one for
   * all it takes half as long again.
   */
  private number(): number {
    const { bytes } = this;
    if (bytes[this.at] <= SPACE) this.skipSpace();
    const from = this.at;
    const begin = bytes[from] === MINUS ? from + 1 : from;
    let at = begin;
    let digit = bytes[at] - ZERO;
    let high = 0;
    let highDigits = 0;
    for (; digit >>> 0 <= 9 && highDigits < PART_DIGITS; digit = bytes[++at] - ZERO) {
      high = (Math.imul(high, 10) + digit) | 0;
      if (high !== 0) highDigits++;
    }
    let low = 0;
    let lowBegin = at;
    for (; digit >>> 0 <= 9; digit = bytes[++at] - ZERO) low = (Math.imul(low, 10) + digit) | 0;
    let lowDigits = at - lowBegin;
    // A zero in front stands alone.
    if (at === begin || (bytes[begin] === ZERO && at > begin + 1)) return Number.NaN;
    let exponent = 0;
    if (bytes[at] === POINT) {
      const point = at++;
      digit = bytes[at] - ZERO;
      for (; digit >>> 0 <= 9 && highDigits < PART_DIGITS; digit = bytes[++at] - ZERO) {
        high = (Math.imul(high, 10) + digit) | 0;
        if (high !== 0) highDigits++;
      }
      lowBegin = at;
      for (; digit >>> 0 <= 9; digit = bytes[++at] - ZERO) low = (Math.imul(low, 10) + digit) | 0;
      lowDigits += at - lowBegin;
      exponent = point + 1 - at;
      if (exponent === 0) return Number.NaN;
    }
    this.at = at;
    if ((bytes[at] | SMALL) === LETTER_E) exponent += this.exponent();
    const value = lowDigits > PART_DIGITS ? Number.NaN : decimal(high, highDigits, low, lowDigits, exponent);
    if (Number.isNaN(value)) return Number.isNaN(exponent) ? value : this.slowly(from);
    return begin > from ? -value : value;
  }

  /** NaN: it is none, or has many digits. */
  private exponent(): number {
    const { bytes } = this;
    const sign = bytes[this.at + 1];
    const begin = this.at + (sign === MINUS || sign === PLUS ? 2 : 1);
    let at = begin;
    let exponent = 0;
    for (; bytes[at] >= ZERO && bytes[at] <= ZERO + 9; at++) exponent = exponent * 10 + bytes[at] - ZERO;
    this.at = at;
    if (at === begin || at - begin > EXPONENT_DIGITS) return Number.NaN;
    return sign === MINUS ? -exponent : exponent;
  }

  private slowly(from: number): number {
    const { buffer, byteOffset } = this.bytes;
    return Number(Buffer.from(buffer, byteOffset + from, this.at - from).toString('latin1'));
  }
}

/** Absolute values from which on types of floating-point numbers round to infinity. */
const INFINITE = { FP16: 65520, FP32: 2 ** 128 - 2 ** 103, FP64: Number.POSITIVE_INFINITY } as const;

/** Least and most of whole numbers; of 64 bits, what a double holds exactly. */
const WHOLE = {
  BOOL: [0, 1],
  UINT8: [0, 2 ** 8 - 1],
  UINT16: [0, 2 ** 16 - 1],
  UINT32: [0, 2 ** 32 - 1],
  UINT64: [0, Number.MAX_SAFE_INTEGER],
  INT8: [-(2 ** 7), 2 ** 7 - 1],
  INT16: [-(2 ** 15), 2 ** 15 - 1],
  INT32: [-(2 ** 31), 2 ** 31 - 1],
  INT64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
} as const;

/** A tensor that is being filled. */
class Elements {
  private readonly chunk: Float64Array;
  private inChunk = 0;
  private written = 0;
  private readonly tensor: ArrayBuffer;

  constructor(
    private readonly datatype: NumberType,
    count: number,
  ) {
    this.chunk = new Float64Array(Math.min(CHUNK, count));
    this.tensor = new ArrayBuffer(DATATYPES[datatype].bytes * count);
  }

  /** False: an element is none of the type. */
  add(value: number): boolean {
    if (this.inChunk === this.chunk.length && !this.flush()) return false;
    this.chunk[this.inChunk++] = value;
    return true;
  }

  /** Null: an element is none of the type. */
  finish(): Uint8Array | null {
    return this.flush() ? new Uint8Array(this.tensor) : null;
  }

  private flush(): boolean {
    const { datatype, chunk, inChunk, written, tensor } = this;
    const values = inChunk === chunk.length ? chunk : chunk.subarray(0, inChunk);
    if (!areOf(datatype, values)) return false;
    this.inChunk = 0;
    this.written += values.length;
    if (datatype === 'INT64' || datatype === 'UINT64') putLongs(values, new Uint32Array(tensor, 8 * written));
    else {
      const view = new TENSOR_ARRAYS[datatype](tensor, DATATYPES[datatype].bytes * written);
      view.set(datatype === 'FP16' ? values.map(toHalf) : values);
    }
    return true;
  }
}

function areOf(datatype: NumberType, values: Float64Array): boolean {
  if (datatype === 'FP16' || datatype === 'FP32' || datatype === 'FP64')
    return areFinite(values, INFINITE[datatype]);
  const [least, most] = WHOLE[datatype];
  return areWhole(values, least, most);
}

function areFinite(values: Float64Array, infinite: number): boolean {
  for (let i = 0; i < values.length; i++) if (!(Math.abs(values[i]) < infinite)) return false;
  return true;
}

function areWhole(values: Float64Array, least: number, most: number): boolean {
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (!(value >= least && value <= most && Math.floor(value) === value)) return false;
  }
  return true;
}

/** Without a bigint for each. */
function putLongs(values: Float64Array, words: Uint32Array): void {
  for (let i = 0; i < values.length; i++) {
    words[2 * i] = values[i];
    words[2 * i + 1] = Math.floor(values[i] / 2 ** 32);
  }
}
