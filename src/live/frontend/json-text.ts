import { fromHalf } from '../half.js';
import type { Datatype } from '../model.js';
import { textsOf } from '../texts.js';
import { viewOf } from './views.js';

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
