import { fromHalf } from '../half.js';
import type { Datatype } from '../model.js';
import { Refusal, shown } from './refusal.js';
import { viewOf } from './views.js';

/**
 * The elements of an output as they stand between the brackets of JSON `data`. 64-bit integers keep all their
 * digits. Throws a refusal where JSON has no word for an element: it knows neither NaN nor infinity.
 */
export function jsonOfBytes(name: string, datatype: Datatype, bytes: Uint8Array): string {
  switch (datatype) {
    case 'BOOL':
      return Array.from(bytes, (bit) => bit !== 0).join(',');
    case 'FP16':
      return finite(name, Float64Array.from(viewOf('FP16', bytes), fromHalf)).join(',');
    case 'FP32':
    case 'FP64':
      return finite(name, viewOf(datatype, bytes)).join(',');
    default:
      return viewOf(datatype, bytes).join(',');
  }
}

function finite<T extends Float32Array | Float64Array>(name: string, values: T): T {
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) {
      const hint = 'JSON has no such number: ask for binary data';
      throw new Refusal('failed', `output ${shown(name)}: element ${i} is ${values[i]}; ${hint}`);
    }
  }
  return values;
}
