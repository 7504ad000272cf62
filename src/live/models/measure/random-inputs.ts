import type { Random } from '../../../base/random/streams.js';
import { DATATYPES, type ModelSignature } from '../../model.js';
import { bytesOfTexts } from '../../texts.js';
import { tensorOf } from './comparer.js';

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
    return tensorOf(datatype, bytes * count, datatype.startsWith('FP') ? draw : () => 0);
  });
}
