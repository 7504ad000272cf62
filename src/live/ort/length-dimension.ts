import { EscapementError } from '../../base/errors.js';
import type { Datatype, InputLengths } from '../model.js';

/** By input: value that shorter ones are padded with. */
type LengthFill = Readonly<Record<string, number | boolean>>;

/** An operator's settings about the lengths of a model's inputs. */
export interface LengthSettings {
  readonly buckets?: readonly number[];
  readonly fill?: LengthFill;
}

interface Tensor {
  /** "input" or "output" and its name, for messages. */
  readonly label: string;
  readonly name: string;
  readonly datatype: Datatype;
  /** Including the batch; a variable size has a name. */
  readonly dims: readonly (number | string)[];
}

interface Asked extends LengthSettings {
  readonly mayBeBatched: boolean;
  /** Path of the model, for messages. */
  readonly file: string;
}

/**
 * Lengths that a model's inputs are padded to, if its settings say so: the one dimension besides the batch that has no
 * size. Null: they are not padded. Throws `E_CONFIG_VALUE`.
 */
export function lengthIn(
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  { buckets, fill, mayBeBatched, file }: Asked,
): InputLengths | null {
  const wrong = (key: string, what: string) =>
    new EscapementError('E_CONFIG_VALUE', `"${key}" in its config.yaml: ${what}`, { file });
  if (buckets === undefined) {
    if (fill === undefined) return null;
    throw wrong('fill', 'says what inputs are padded with, so "buckets" must say to which lengths');
  }
  if (!mayBeBatched)
    throw wrong(
      'buckets',
      'the model takes no batches: "batch: none" says so, or it has texts, or its first dimension is not free everywhere',
    );
  const names = new Set(inputs.flatMap(openNames));
  const [name] = names;
  if (name === undefined) throw wrong('buckets', 'besides the batch, no dimension of the inputs is free');
  if (names.size > 1 || name === '') {
    const which = [...names].map((each) => each || 'one without a name').join(', ');
    throw wrong(
      'buckets',
      `one dimension can be the length, and these are free: ${which}; "dimensions" gives sizes`,
    );
  }
  for (const tensor of [...inputs, ...outputs]) {
    const open = openNames(tensor);
    const other = open.find((each) => each !== name);
    if (other !== undefined)
      throw wrong(
        'buckets',
        `${tensor.label} has the free dimension ${other || 'without a name'}, which is not ${name}`,
      );
    if (open.length > 1) throw wrong('buckets', `${tensor.label} has the dimension ${name} more than once`);
  }
  return fill === undefined ? null : { buckets, fill: fillOf(inputs, fill, name, wrong) };
}

/** Names of the dimensions without a size, other than the batch. */
function openNames({ dims }: Tensor): string[] {
  return dims.slice(1).filter((size) => typeof size === 'string');
}

function fillOf(
  inputs: readonly Tensor[],
  fill: LengthFill,
  name: string,
  wrong: (key: string, what: string) => EscapementError,
): (number | null)[] {
  const long = inputs.filter((input) => openNames(input).length > 0);
  const unknown = Object.keys(fill).find((key) => !long.some((input) => input.name === key));
  if (unknown !== undefined) {
    const known = long.map((input) => input.name).join(', ');
    throw wrong('fill', `${unknown} is not an input with the dimension ${name}: those are ${known}`);
  }
  return inputs.map((input) => {
    if (!long.includes(input)) return null;
    const value = fill[input.name];
    if (value === undefined)
      throw wrong('fill', `input ${input.name} has the dimension ${name}, too: say its value`);
    if (!isValue(input.datatype, value))
      throw wrong('fill', `input ${input.name} is ${input.datatype}, which cannot be ${value}`);
    return Number(value);
  });
}

function isValue(datatype: Datatype, value: number | boolean): boolean {
  if (datatype === 'BOOL' || typeof value === 'boolean')
    return datatype === 'BOOL' && typeof value === 'boolean';
  if (datatype.startsWith('FP')) return Number.isFinite(value);
  const bits = Number(datatype.replace(/\D+/, ''));
  const [least, most] = datatype.startsWith('U') ? [0, 2 ** bits] : [-(2 ** (bits - 1)), 2 ** (bits - 1)];
  return Number.isSafeInteger(value) && value >= least && value < most;
}
