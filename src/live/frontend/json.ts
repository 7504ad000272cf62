import { isUtf8 } from 'node:buffer';
import { fromHalf, toHalf } from '../half.js';
import { DATATYPES, type Datatype, numbersOf, TENSOR_ARRAYS, viewOf } from '../model.js';
import { bytesOfTexts, textsOf } from '../texts.js';
import { LARGE_BYTES } from '../transfer.js';
import { ApiError, shown } from './api-error.js';

export type Json = Readonly<Record<string, unknown>>;

/**
 * Stands before the digits or the word of a number that `JSON.parse` cannot give: a whole number of more than 53 bits, NaN,
 * Infinity. No text of a tensor has it.
 */
const MARK = '\0';

/**
 * Parses JSON with NaN, Infinity and -Infinity as bare words. `isExact`: whole numbers of 16 digits and more keep all of them.
 * Such numbers come as texts for `specialNumber`. Throws a `SyntaxError`.
 */
export function parseJson(text: string, isExact = false): unknown {
  if (isExact && /\d{16}/.test(text)) return JSON.parse(withMarks(text));
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!/NaN|Inf/.test(text)) throw error;
    return JSON.parse(withMarks(text));
  }
}

/** Number that `parseJson` marked because `JSON.parse` cannot read it; null: the value is something else. */
function specialNumber(value: unknown): number | bigint | null {
  if (typeof value !== 'string' || !value.startsWith(MARK)) return null;
  const word = value.slice(MARK.length);
  if (/^-?\d+$/.test(word)) return BigInt(word);
  return word.startsWith('-') ? Number.NEGATIVE_INFINITY : word === 'NaN' ? NaN : Number.POSITIVE_INFINITY;
}

/** A text, perhaps without an end, or a number that `JSON.parse` cannot give. */
const SPECIAL = /"[^"\\]*(?:\\.?[^"\\]*)*"?|(?<![\w.+-])(?:-?(?:\d{16,}(?![\d.eE])|Inf(?:inity)?\b)|NaN\b)/gs;

/** Makes marked texts of special numbers, and leaves texts as they are. */
function withMarks(text: string): string {
  return text.replace(SPECIAL, (found) => (found.startsWith('"') ? found : `"\\u0000${found}"`));
}

/** The JSON object in the first `bytes` bytes of a body. Throws an `ApiError`. */
export function parseObject(body: Uint8Array, bytes: number, isExact = false): Json {
  const json = Buffer.from(body.buffer, body.byteOffset, bytes);
  if (!isUtf8(json)) throw new ApiError('invalid', 'the body is not UTF-8');
  let value: unknown;
  try {
    value = parseJson(json.toString('utf8'), isExact);
  } catch (error) {
    throw new ApiError('invalid', `the body is not JSON: ${(error as Error).message}`);
  }
  if (!isObject(value)) throw new ApiError('invalid', `the body is not a JSON object: ${shown(value)}`);
  return value;
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value that must be an object. Throws an `ApiError`. */
export function objectOf(value: unknown, where: string): Json {
  if (isObject(value)) return value;
  throw new ApiError('invalid', `${where}: expected an object, got ${shown(value)}`);
}

/** A member that is an object where it is given at all. Throws an `ApiError`. */
export function optionalObject(value: unknown, where: string): Json {
  return value === undefined || value === null ? {} : objectOf(value, where);
}

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
  return bytesOfElements(name, datatype, isNested ? data.flat(shape.length - 1) : data);
}

/** The elements of a JSON tensor, or of typed contents, as bytes. Throws an `ApiError` that names the first that `datatype` cannot hold. */
export function bytesOfElements(
  name: string,
  datatype: Datatype,
  elements: readonly unknown[],
): Uint8Array<ArrayBuffer> {
  const refuse = (at: number, what: string, expects: string) =>
    refuseData(name, `element ${at} is ${what}, expected ${expects}`);
  if (datatype === 'BYTES') {
    const wrong = elements.findIndex((value) => typeof value !== 'string');
    if (wrong >= 0) refuse(wrong, shown(elements[wrong]), 'a string');
    return bytesOfTexts(elements as readonly string[]);
  }
  const view = new TENSOR_ARRAYS[datatype](elements.length);
  const put = putOf(datatype);
  for (let at = 0; at < elements.length; at++) {
    const given = elements[at];
    const value = typeof given === 'string' ? (specialNumber(given) ?? given) : given;
    if (put(view as unknown as Float64Array, at, value)) continue;
    // NaN and infinities were meant, and are written.
    if (value !== given && typeof value === 'number' && datatype.startsWith('FP')) continue;
    const isOverflow = given === Number.POSITIVE_INFINITY || given === Number.NEGATIVE_INFINITY;
    refuse(at, isOverflow ? 'too large for a double' : shown(value), expectedOf(datatype));
  }
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

function refuseData(name: string, what: string): never {
  throw new ApiError('invalid', `input ${shown(name)}: ${what}`);
}

function elements(count: number): string {
  return count === 1 ? '1 element' : `${count} elements`;
}

/** Writes `value` into element `at` of a typed array; false: it is no such value, or became infinite. */
type Put = (view: Float64Array, at: number, value: unknown) => boolean;

function putOf(datatype: Datatype): Put {
  if (datatype === 'BOOL') return putBool;
  if (datatype === 'FP16') return putHalf;
  if (datatype.startsWith('FP')) return putFloat;
  return DATATYPES[datatype].bytes === 8 ? (putLong as unknown as Put) : putWhole;
}

function putBool(view: Float64Array, at: number, value: unknown): boolean {
  if (value !== true && value !== false && value !== 0 && value !== 1) return false;
  view[at] = Number(value);
  return true;
}

/** A typed array keeps only as many bits as it has. */
function putWhole(view: Float64Array, at: number, value: unknown): boolean {
  if (typeof value !== 'number') return false;
  view[at] = value;
  return view[at] === value;
}

/** Beyond 2^53 only bigints are exact. */
function putLong(view: BigInt64Array, at: number, value: unknown): boolean {
  const whole = Number.isSafeInteger(value) ? BigInt(value as number) : value;
  if (typeof whole !== 'bigint') return false;
  view[at] = whole;
  return view[at] === whole;
}

function putFloat(view: Float64Array, at: number, value: unknown): boolean {
  if (typeof value !== 'number') return typeof value === 'bigint' && putFloat(view, at, Number(value));
  view[at] = value;
  return Number.isFinite(view[at]);
}

function putHalf(view: Float64Array, at: number, value: unknown): boolean {
  if (typeof value !== 'number') return typeof value === 'bigint' && putHalf(view, at, Number(value));
  view[at] = toHalf(value);
  return Number.isFinite(fromHalf(view[at]));
}

function expectedOf(datatype: Datatype): string {
  if (datatype === 'BOOL') return 'true or false';
  if (datatype.startsWith('FP')) return `a number within the range of ${datatype}`;
  const values = 2n ** BigInt(8 * DATATYPES[datatype].bytes);
  const least = datatype.startsWith('U') ? 0n : -values / 2n;
  return `a whole number from ${least} to ${least + values - 1n}`;
}

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
      return jsonOfFloats(numbersOf(datatype, bytes));
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

/**
 * The large buffers of views, which they fill alone or share only among themselves: those can move to another thread. Smaller ones
 * may lie in a pool that others share, and are copied as fast.
 */
export function ownBuffers(views: readonly Uint8Array[]): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const { buffer } of views) if (buffer.byteLength > LARGE_BYTES) buffers.add(buffer as ArrayBuffer);
  return [...buffers];
}

/** Bytes of the buffers that views keep, of which they may be small parts. */
export function bufferBytes(views: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const buffer of new Set(views.map((view) => view.buffer))) bytes += buffer.byteLength;
  return bytes;
}
