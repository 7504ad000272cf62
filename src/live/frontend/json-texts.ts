import { bytesOfTexts } from '../texts.js';
import { Refusal, shown } from './refusal.js';

/** The `data` of a JSON tensor of BYTES: strings, flat or nested as `shape` says. Throws a refusal. */
export function bytesOfJsonTexts(
  name: string,
  shape: readonly number[],
  data: unknown,
): Uint8Array<ArrayBuffer> {
  let count = 1;
  for (const size of shape) count *= size;
  const texts: string[] = [];
  const isNested = Array.isArray(data) && Array.isArray(data[0]) && shape.length > 1;
  collect(name, data, isNested ? shape : [count], 0, texts);
  return bytesOfTexts(texts);
}

function collect(
  name: string,
  data: unknown,
  shape: readonly number[],
  depth: number,
  texts: string[],
): void {
  if (!Array.isArray(data) || data.length !== shape[depth]) {
    const got = Array.isArray(data) ? data.length : shown(data);
    const what = `expected ${shape[depth]} elements in dimension ${depth} of data, got ${got}`;
    throw new Refusal('invalid', `input ${shown(name)}: ${what}`);
  }
  for (const value of data) {
    if (depth < shape.length - 1) collect(name, value, shape, depth + 1, texts);
    else if (typeof value === 'string') texts.push(value);
    else
      throw new Refusal(
        'invalid',
        `input ${shown(name)}: element ${texts.length} is ${shown(value)}, expected a string`,
      );
  }
}
