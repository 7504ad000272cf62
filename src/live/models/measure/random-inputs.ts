import type { Random } from '../../../base/random/streams.js';
import { toHalf } from '../../half.js';
import { DATATYPES, type ModelSignature } from '../../model.js';
import { bytesOfTexts } from '../../texts.js';

/**
 * Inputs of `count` requests: numbers from −1 to 1, since zeros could be faster; integers are 0, since they may be
 * indices into a table. Texts are "0", since a model may parse them as numbers.
 */
export function randomInputs({ inputs }: ModelSignature, count: number, random: Random): Uint8Array[] {
  const draw = () => 2 * random() - 1;
  return inputs.map(({ datatype, bytes }) => {
    if (datatype === 'BYTES') {
      return bytesOfTexts(new Array((bytes * count) / DATATYPES.BYTES.bytes).fill('0'));
    }
    const memory = new Uint8Array(bytes * count);
    const { buffer } = memory;
    if (datatype === 'FP64') fill(new Float64Array(buffer), draw);
    else if (datatype === 'FP32') fill(new Float32Array(buffer), draw);
    else if (datatype === 'FP16') fill(new Uint16Array(buffer), () => toHalf(draw()));
    return memory;
  });
}

function fill(values: Float64Array | Float32Array | Uint16Array, next: () => number): void {
  for (let i = 0; i < values.length; i++) values[i] = next();
}
