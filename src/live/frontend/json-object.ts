import { isUtf8 } from 'node:buffer';
import { checkJsonLimits } from './json-limits.js';
import { type ParsedJson, parseJson } from './json-parse.js';
import { Refusal, shown } from './refusal.js';

export type Json = Readonly<Record<string, unknown>>;

/** The JSON object in the first `bytes` bytes of a body. Throws a refusal. */
export function parseObject(
  body: Uint8Array,
  bytes: number,
): { readonly root: Json; readonly hasInfinities: boolean } {
  checkJsonLimits(body, bytes);
  const json = Buffer.from(body.buffer, body.byteOffset, bytes);
  if (!isUtf8(json)) throw new Refusal('invalid', 'the body is not UTF-8');
  const text = json.toString('utf8');
  let parsed: ParsedJson;
  try {
    parsed = parseJson(text);
  } catch (error) {
    throw new Refusal('invalid', `the body is not JSON: ${(error as Error).message}`);
  }
  const { value, hasInfinities } = parsed;
  if (!isObject(value)) throw new Refusal('invalid', `the body is not a JSON object: ${shown(value)}`);
  return { root: value, hasInfinities };
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value that must be an object. Throws a refusal. */
export function objectOf(value: unknown, where: string): Json {
  if (isObject(value)) return value;
  throw new Refusal('invalid', `${where}: expected an object, got ${shown(value)}`);
}

/** A member that is an object where it is given at all. Throws a refusal. */
export function optionalObject(value: unknown, where: string): Json {
  return value === undefined || value === null ? NOTHING : objectOf(value, where);
}

const NOTHING: Json = Object.freeze({});

/** Throws a refusal if JSON is too large to be parsed. */
export function checkJsonSize(bytes: number, maxJsonBytes: number): void {
  if (bytes <= maxJsonBytes) return;
  throw new Refusal(
    'tooLarge',
    `the JSON has ${bytes} bytes, of at most ${maxJsonBytes}: send large tensors as binary data`,
  );
}
