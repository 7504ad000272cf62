import { bytesOf, countOf, DATATYPES, type Tensor, type TensorMetadata } from './tensors.js';

/** What integers are made of: a random one might be no valid index, and a mask of zeros makes NaN of a softmax. */
export const INTEGERS = ['mixed', 'ones', 'zeros'] as const;
export type Integers = (typeof INTEGERS)[number];

/**
 * Inputs that fit the metadata: sizes that are left to the caller become `length`, but for the first, which becomes `rows`.
 * Numbers with fractions are multiples of 1/64, so that decimal digits and 16 bits hold them exactly; `seed` varies
 * them.
 */
export function makeInputs(
  inputs: readonly TensorMetadata[],
  { rows = 1, length = 1, seed = 0, integers = 'mixed' as Integers } = {},
): Tensor[] {
  return inputs.map(({ name, datatype, shape: described }) => {
    const shape = described.map((size, i) => (size >= 0 ? size : i === 0 ? rows : length));
    const elements = Array.from({ length: countOf(shape) }, (_, i) => elementOf(datatype, i, seed, integers));
    return { name, datatype, shape, bytes: bytesOf(name, datatype, elements) };
  });
}

export function canBeMade({ datatype }: TensorMetadata): boolean {
  return Object.hasOwn(DATATYPES, datatype);
}

function elementOf(datatype: string, i: number, seed: number, integers: Integers): number | string {
  if (datatype.startsWith('FP')) return ((7 * i + 13 * seed + 5) % 64) / 64;
  const one = integers === 'mixed' ? (i + seed + 1) % 2 : integers === 'ones' ? 1 : 0;
  return datatype === 'BYTES' ? `text ${one}` : one;
}
