import type { Random } from '../../../base/random/streams.js';
import { toHalf } from '../../half.js';
import { type Datatype, type ModelSignature, TENSOR_ARRAYS } from '../../model.js';

/** Whole numbers that inputs are drawn from, least and most. Some are indexes of a table, and only small ones exist. */
export type WholeRange = readonly [least: number, most: number];

/** Rows of different sizes, so that what is computed over all of them is another number than for one. */
const SCALES = [1, 0.25, 4, 0.5];

/**
 * `count` requests that differ in every input, each as its inputs in the order of the signature. Truth values and whole
 * numbers differ at least between neighbours.
 */
export function distinctRows(
  { inputs }: ModelSignature,
  count: number,
  range: WholeRange,
  random: Random,
): Uint8Array<ArrayBuffer>[][] {
  return Array.from({ length: count }, (_, row) =>
    inputs.map(({ datatype, bytes }) => drawn(datatype, bytes, row, range, random)),
  );
}

/** Whether whole numbers are among the inputs. */
export function hasWholeNumbers({ inputs }: ModelSignature): boolean {
  return inputs.some(({ datatype }) => datatype !== 'BOOL' && !datatype.startsWith('FP'));
}

function drawn(
  datatype: Datatype,
  bytes: number,
  row: number,
  range: WholeRange,
  random: Random,
): Uint8Array<ArrayBuffer> {
  const memory = new Uint8Array(bytes);
  const values = new TENSOR_ARRAYS[datatype](memory.buffer);
  const real = () => (2 * random() - 1) * SCALES[row % SCALES.length];
  const [least, most] =
    datatype === 'BOOL' ? [0, 1] : datatype.startsWith('U') ? [Math.max(0, range[0]), range[1]] : range;
  const whole = (at: number) =>
    at === 0 ? least + (row % (most - least + 1)) : least + Math.floor(random() * (most - least + 1));
  for (let at = 0; at < values.length; at++) {
    if (datatype === 'FP16') values[at] = toHalf(real());
    else if (datatype.startsWith('FP')) values[at] = real();
    else if (datatype.endsWith('INT64')) values[at] = BigInt(whole(at));
    else values[at] = whole(at);
  }
  return memory;
}
