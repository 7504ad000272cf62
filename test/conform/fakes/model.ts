/** What the small servers of these tests do: two inputs, twice the one and one more than the other. */
export const NAME = 'twice';
export const INPUTS = [
  { name: 'x', datatype: 'FP32', shape: [-1, 4] },
  { name: 'n', datatype: 'INT64', shape: [-1, 2] },
];
export const OUTPUTS = [
  { name: 'double', datatype: 'FP32', shape: [-1, 4] },
  { name: 'next', datatype: 'INT64', shape: [-1, 2] },
];

export interface Values {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

/** What `double` is times the input. */
const FACTORS: Readonly<Record<Defect, number>> = { 'wrong-sum': 3, constant: 0 };

/** A client's mistake. */
export class Mistake extends Error {}

/** What is wrong with a server; none: it is right. */
export type Defect = string;

/** Runs the model. Throws a `Mistake` for inputs that it does not have, or of another type or size. */
export function twice(inputs: readonly Values[], defect: Defect): Values[] {
  for (const { name } of inputs)
    if (!INPUTS.some((input) => input.name === name)) throw new Mistake(`no input ${name}`);
  if (inputs.length !== INPUTS.length) throw new Mistake('there must be two inputs');
  const rows = new Set(INPUTS.map((wanted) => rowsOf(wanted, inputs, defect)));
  if (rows.size > 1) throw new Mistake('the inputs differ in rows');
  const [x, n] = ['x', 'n'].map((name) => inputs.find((input) => input.name === name)!);
  const made: Record<string, Pick<Values, 'shape' | 'data'>> = {
    double: { shape: x!.shape, data: x!.data.map((value) => (FACTORS[defect] ?? 2) * value) },
    next: { shape: n!.shape, data: n!.data.map((value) => (defect === 'constant' ? 1 : Number(value) + 1)) },
  };
  return OUTPUTS.map(({ name, datatype }) => ({ name, datatype, ...made[name]! }));
}

/** How the model's metadata describes tensors. */
export function described(tensors: typeof INPUTS, defect: Defect): typeof INPUTS {
  if (defect.includes('free-sizes')) return tensors.map((each) => ({ ...each, shape: [-1, -1] }));
  return defect === 'scalars' ? tensors.map((each) => ({ ...each, shape: [] })) : tensors;
}

function rowsOf(
  { name, datatype, shape }: (typeof INPUTS)[number],
  inputs: readonly Values[],
  defect: Defect,
): number {
  const input = inputs.find((each) => each.name === name);
  if (input === undefined) throw new Mistake(`input ${name} is missing`);
  if (input.datatype !== datatype && defect !== 'any-datatype') throw new Mistake(`${name} is ${datatype}`);
  const got: unknown = input.shape;
  if (!Array.isArray(got) || !got.every((size) => Number.isSafeInteger(size) && size >= 0))
    throw new Mistake(`${name} needs a shape`);
  const dimensions = defect === 'scalars' ? 0 : 2;
  const isFree = defect.includes('any-shape') || defect === 'scalars';
  if (got.length !== dimensions || (got[1] !== shape[1] && !isFree))
    throw new Mistake(`the shape of ${name}`);
  if (!Array.isArray(input.data) || !input.data.every((value) => typeof value === 'number'))
    throw new Mistake(`${name} needs numbers`);
  const elements = got.reduce((product: number, size: number) => product * size, 1);
  if (input.data.length !== elements && defect !== 'any-length') throw new Mistake(`the size of ${name}`);
  return got[0] ?? 1;
}
