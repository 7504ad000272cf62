import { isUtf8 } from 'node:buffer';
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
export function specialNumber(value: unknown): number | bigint | null {
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
