import { fromHalf, toHalf } from '../half.js';
import { DATATYPES, type Datatype, TENSOR_ARRAYS } from '../model.js';
import { bytesOfTexts, textsOf } from '../texts.js';
import { ApiError, shown } from './api-error.js';
import { specialNumber } from './json.js';

/**
 * The `data` of a JSON tensor as bytes: flat, or nested as `shape` says, in row-major order. Throws an `ApiError` that names the
 * element that `datatype` cannot hold.
 */
export function bytesOfJson(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  data: unknown,
): Uint8Array<ArrayBuffer> {
  if (data === undefined || data === null)
    throw new ApiError('invalid', `input ${shown(name)}: data is missing`);
  if (!Array.isArray(data)) throw new ApiError('invalid', `input ${shown(name)}: data is not an array`);
  // All lengths first: a shape alone gets no memory.
  const isNested = Array.isArray(data[0]) && shape.length > 0;
  const count = shape.reduce((product, size) => product * size, 1);
  if (isNested) checkNesting(name, data, shape, 0);
  else if (data.length !== count) refuseData(name, `expected ${elements(count)}, got ${data.length}`);
  const rows = isNested ? data.flat(shape.length - 1) : data;
  if (datatype === 'BYTES') return bytesOfTexts(rows.map((value, at) => textAt(name, value, at)));
  const view = newView(datatype, count);
  const { put, expects } = ELEMENTS[datatype] as Element;
  for (let at = 0; at < count; at++)
    if (!put(view, at, rows[at])) putSpecial(name, datatype, view, at, rows[at], put, expects);
  return new Uint8Array(view.buffer as ArrayBuffer);
}

function checkNesting(name: string, values: unknown, shape: readonly number[], depth: number): void {
  const otherwise = `data is nested otherwise than its shape ${shown(shape)}`;
  if (!Array.isArray(values)) refuseData(name, otherwise);
  const expected = shape[depth];
  if (values.length !== expected)
    refuseData(
      name,
      `${otherwise}: expected ${elements(expected)} in dimension ${depth}, got ${values.length}`,
    );
  if (depth < shape.length - 1) for (const inner of values) checkNesting(name, inner, shape, depth + 1);
}

function textAt(name: string, value: unknown, at: number): string {
  if (typeof value === 'string') return value;
  return refuseData(name, `element ${at} is ${shown(value)}, expected a string`);
}

/** The element may be one that JSON has no number for. */
function putSpecial(
  name: string,
  datatype: Datatype,
  view: Views[Datatype],
  at: number,
  value: unknown,
  put: Put,
  expects: string,
): void {
  const special = specialNumber(value);
  if (special !== null && (put(view, at, special) || (datatype.startsWith('FP') && !isWhole(special))))
    return;
  const isInfinite = value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;
  const what = isInfinite ? 'too large for a double' : shown(special ?? value);
  refuseData(name, `element ${at} is ${what}, expected ${expects}`);
}

function isWhole(number: number | bigint): boolean {
  return typeof number === 'bigint';
}

function refuseData(name: string, what: string): never {
  throw new ApiError('invalid', `input ${shown(name)}: ${what}`);
}

function elements(count: number): string {
  return count === 1 ? '1 element' : `${count} elements`;
}

/** Writes `value` into element `at` of a typed array; false: it is no such value, or became infinite. */
type Put = (view: Views[Datatype], at: number, value: unknown) => boolean;
interface Element {
  readonly put: Put;
  readonly expects: string;
}

const putFloat = (view: Float32Array | Float64Array, at: number, value: unknown): boolean => {
  if (typeof value !== 'number') return typeof value === 'bigint' && putFloat(view, at, Number(value));
  view[at] = value;
  return Number.isFinite(view[at]);
};

/** All of these bits are set in halves that are not finite. */
const HALF_EXPONENT = 0x7c00;

const putHalf = (view: Uint16Array, at: number, value: unknown): boolean => {
  if (typeof value !== 'number') return typeof value === 'bigint' && putHalf(view, at, Number(value));
  view[at] = toHalf(value);
  return (view[at] & HALF_EXPONENT) !== HALF_EXPONENT;
};

/** Beyond 2^53 only bigints are exact. */
function long(least: bigint, most: bigint) {
  return {
    put: (view: BigInt64Array | BigUint64Array, at: number, value: unknown) => {
      const whole = Number.isSafeInteger(value) ? BigInt(value as number) : value;
      if (typeof whole !== 'bigint' || whole < least || whole > most) return false;
      view[at] = whole;
      return true;
    },
    expects: `a whole number from ${least} to ${most}`,
  };
}

function whole(least: number, most: number) {
  return {
    put: (view: Uint8Array, at: number, value: unknown) => {
      if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) return false;
      view[at] = value as number;
      return true;
    },
    expects: `a whole number from ${least} to ${most}`,
  };
}

const float = (datatype: Datatype) => ({
  put: datatype === 'FP16' ? putHalf : putFloat,
  expects: `a number within the range of ${datatype}`,
});

const ELEMENTS: Readonly<Record<Exclude<Datatype, 'BYTES'>, unknown>> = {
  BOOL: {
    put: (view: Uint8Array, at: number, value: unknown) => {
      if (value !== true && value !== false && value !== 0 && value !== 1) return false;
      view[at] = Number(value);
      return true;
    },
    expects: 'true or false',
  },
  UINT8: whole(0, 255),
  UINT16: whole(0, 65535),
  UINT32: whole(0, 2 ** 32 - 1),
  UINT64: long(0n, 2n ** 64n - 1n),
  INT8: whole(-128, 127),
  INT16: whole(-32768, 32767),
  INT32: whole(-(2 ** 31), 2 ** 31 - 1),
  INT64: long(-(2n ** 63n), 2n ** 63n - 1n),
  FP16: float('FP16'),
  FP32: float('FP32'),
  FP64: float('FP64'),
};

/**
 * The elements of an output as they stand between the brackets of JSON `data`. 64-bit integers keep all their digits.
 * A zero keeps its sign. What JSON has no word for is written as Triton's server does: NaN, Infinity, -Infinity.
 */
export function jsonOfBytes(datatype: Datatype, bytes: Uint8Array): string {
  switch (datatype) {
    case 'BOOL':
      return Array.from(bytes, (bit) => bit !== 0).join(',');
    case 'BYTES':
      return textsOf(bytes)
        .map((text) => JSON.stringify(text))
        .join(',');
    case 'FP16':
      return jsonOfFloats(Float64Array.from(viewOf('FP16', bytes), fromHalf));
    case 'FP32':
    case 'FP64':
      return jsonOfFloats(viewOf(datatype, bytes));
    default:
      return viewOf(datatype, bytes).join(',');
  }
}

/** Numbers lose the sign of a zero on the way to text, and few outputs have such a zero. */
function jsonOfFloats(values: Float32Array | Float64Array): string {
  if (!values.some((value) => Object.is(value, -0))) return values.join(',');
  return Array.from(values, (value) => (Object.is(value, -0) ? '-0' : String(value))).join(',');
}

/** Typed arrays that show the elements of a tensor; FP16 as its bits. */
interface Views {
  BOOL: Uint8Array;
  UINT8: Uint8Array;
  UINT16: Uint16Array;
  UINT32: Uint32Array;
  UINT64: BigUint64Array;
  INT8: Int8Array;
  INT16: Int16Array;
  INT32: Int32Array;
  INT64: BigInt64Array;
  FP16: Uint16Array;
  FP32: Float32Array;
  FP64: Float64Array;
  BYTES: Uint8Array;
}

/** The elements of a tensor: a view of `bytes`, or of a copy where they lie across the machine's words. */
export function viewOf<T extends Datatype>(datatype: T, bytes: Uint8Array): Views[T] {
  const { bytes: size } = DATATYPES[datatype];
  // Not `slice`, which a Buffer answers with a view.
  const whole = bytes.byteOffset % size === 0 ? bytes : new Uint8Array(bytes);
  const view = new TENSOR_ARRAYS[datatype](
    whole.buffer as ArrayBuffer,
    whole.byteOffset,
    whole.length / size,
  );
  return view as unknown as Views[T];
}

/** A tensor of `count` zeros. */
export function newView<T extends Datatype>(datatype: T, count: number): Views[T] {
  return new TENSOR_ARRAYS[datatype](count) as unknown as Views[T];
}

/** Smaller buffers may lie in a pool that others share, and are copied as fast. */
const LEAST_BYTES = 16 * 1024;

/** The buffers that the views fill alone or share only among themselves: those can move to another thread. */
export function ownBuffers(views: readonly Uint8Array[]): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const { buffer } of views) if (buffer.byteLength >= LEAST_BYTES) buffers.add(buffer as ArrayBuffer);
  return [...buffers];
}
