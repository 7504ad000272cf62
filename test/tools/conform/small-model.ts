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
  const data = (name: string) => inputs.find((input) => input.name === name)!.data;
  const made: Record<string, number[]> = {
    double: data('x').map((value) => (defect === 'wrong-sum' ? 3 : 2) * value),
    next: data('n').map((value) => Number(value) + 1),
  };
  return OUTPUTS.map(({ name, datatype, shape }) => ({
    name,
    datatype,
    shape: [[...rows][0]!, ...shape.slice(1)],
    data: made[name]!,
  }));
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
  if (got.length !== 2 || (got[1] !== shape[1] && defect !== 'any-shape'))
    throw new Mistake(`the shape of ${name}`);
  if (!Array.isArray(input.data) || !input.data.every((value) => typeof value === 'number'))
    throw new Mistake(`${name} needs numbers`);
  if (input.data.length !== got[0] * got[1] && defect !== 'any-length')
    throw new Mistake(`the size of ${name}`);
  return got[0];
}
