import { check, fail } from '../finding.js';
import { shown } from '../plain.js';
import { type HttpAnswer, isObject } from '../wire/http-answer.js';
import { bytesOf, countOf, DATATYPES, elementsOf, stringsOf, type Tensor } from './tensors.js';

/** Outputs of an answer by name. */
export type Outputs = ReadonlyMap<string, Tensor>;

/** The outputs of an answer over HTTP, as JSON or binary. Fails where the answer is not as the protocol wants it. */
export function outputsOfHttp(answer: HttpAnswer): Outputs {
  check(
    answer.status === 200,
    `the status is ${answer.status}, not 200: ${shown(answer.text.slice(0, 200))}`,
  );
  const { outputs } = answer.object();
  if (!Array.isArray(outputs)) return fail(`"outputs" is ${shown(outputs)}, not a list`);
  const binary = answer.binary();
  let at = 0;
  const tensors = outputs.map((output: unknown) => {
    if (!isObject(output)) return fail(`an output is ${shown(output)}, not an object`);
    const { name, datatype, shape, data, parameters } = output;
    const size = isObject(parameters) ? parameters.binary_data_size : undefined;
    if (size === undefined) return tensorOf(name, datatype, shape, flat(data));
    if (binary === null)
      return fail(
        `output ${shown(name)} has binary_data_size, and no Inference-Header-Content-Length is there`,
      );
    if (!Number.isSafeInteger(size) || (size as number) < 0)
      return fail(`binary_data_size of ${shown(name)} is ${shown(size)}`);
    const bytes = binary.subarray(at, at + (size as number));
    at += size as number;
    check(
      bytes.length === size,
      `output ${shown(name)} should have ${shown(size)} bytes, ${bytes.length} are left`,
    );
    return tensorOf(name, datatype, shape, bytes);
  });
  if (binary !== null) check(at === binary.length, `${binary.length - at} bytes follow the last output`);
  return named(tensors);
}

/** A ModelInferResponse as it is decoded. */
export interface GrpcInferResponse {
  readonly model_name: string;
  readonly model_version: string;
  readonly id: string;
  readonly outputs: readonly {
    readonly name: string;
    readonly datatype: string;
    readonly shape: readonly string[];
    readonly contents: Readonly<Record<string, readonly unknown[]>> | null;
  }[];
  readonly raw_output_contents: readonly Buffer[];
}

/** The outputs of an answer over gRPC, raw or as lists of values. */
export function outputsOfGrpc({ outputs, raw_output_contents: raw }: GrpcInferResponse): Outputs {
  if (raw.length > 0)
    check(
      raw.length === outputs.length,
      `${outputs.length} outputs come with ${raw.length} raw_output_contents`,
    );
  return named(
    outputs.map(({ name, datatype, shape, contents }, i) => {
      const lists = Object.values(contents ?? {}).filter((list) => list.length > 0);
      if (raw.length > 0)
        check(lists.length === 0, `output ${shown(name)} has raw contents and contents as well`);
      const list = Object.hasOwn(DATATYPES, datatype) ? (DATATYPES[datatype]!.contents ?? '') : '';
      const data = raw.length > 0 ? raw[i]! : (contents?.[list] ?? []);
      return tensorOf(name, datatype, shape.map(Number), data);
    }),
  );
}

function tensorOf(
  name: unknown,
  datatype: unknown,
  shape: unknown,
  data: Buffer | readonly unknown[],
): Tensor {
  if (typeof name !== 'string' || name === '') return fail(`an output has the name ${shown(name)}`);
  if (typeof datatype !== 'string' || !Object.hasOwn(DATATYPES, datatype))
    return fail(
      `output ${shown(name)} has the datatype ${shown(datatype)}, which the protocol does not know`,
    );
  if (!isShape(shape)) return fail(`output ${shown(name)} has the shape ${shown(shape)}`);
  const bytes = Buffer.isBuffer(data) ? data : bytesOf(name, datatype, data);
  const size = DATATYPES[datatype]!.bytes;
  const count = size === 0 ? stringsOf(bytes).length : bytes.length / size;
  check(
    count === countOf(shape),
    `output ${shown(name)} has the shape ${shown(shape)}, ${countOf(shape)} elements, and data of ${count}`,
  );
  return { name, datatype, shape, bytes };
}

function named(tensors: readonly Tensor[]): Outputs {
  const outputs = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  check(outputs.size === tensors.length, 'two outputs have the same name');
  return outputs;
}

function isShape(shape: unknown): shape is number[] {
  return Array.isArray(shape) && shape.every((size) => Number.isSafeInteger(size) && size >= 0);
}

/** Elements in row-major order, nested or not. A list holds all that is left to visit, so depth costs no stack. */
function flat(data: unknown): unknown[] {
  if (!Array.isArray(data)) return fail(`"data" is ${shown(data)}, not a list`);
  if (!data.some(Array.isArray)) return data;
  const found: unknown[] = [];
  const left: unknown[] = [data];
  while (left.length > 0) {
    const next = left.pop();
    if (Array.isArray(next)) for (let i = next.length - 1; i >= 0; i--) left.push(next[i]);
    else found.push(next);
  }
  return found;
}

/**
 * How far numbers of requests that share a batch may be from those of one alone, as a share of the largest. Other kernels sum in another
 * order; on GPUs in FP16, or in TF32 for FP32: both have 10 bits after the point, so that each layer may be off by 0.1 %.
 */
export const BATCHED_TOLERANCE = 1e-2;

/**
 * Fails unless both answers have the same outputs: bit for bit, or with a `tolerance` as numbers with fractions that differ by
 * that share of the largest.
 */
export function checkSame(
  one: Outputs,
  other: Outputs,
  names: readonly [string, string],
  tolerance = 0,
): void {
  check(
    one.size === other.size && [...one.keys()].every((name) => other.has(name)),
    `${names[0]} answers ${shown([...one.keys()])}, ${names[1]} answers ${shown([...other.keys()])}`,
  );
  for (const [name, a] of one) {
    const b = other.get(name)!;
    const where = `output ${shown(name)} differs between ${names[0]} and ${names[1]}`;
    check(a.datatype === b.datatype, `${where}: ${a.datatype}, ${b.datatype}`);
    check(shown(a.shape) === shown(b.shape), `${where}: shapes ${shown(a.shape)} and ${shown(b.shape)}`);
    if (!isNear(a, b, tolerance)) fail(`${where}: ${differenceOf(a, b, tolerance)}`);
  }
}

/** Whether `checkSame` would find outputs the same. */
export function areNear(one: Outputs, other: Outputs, tolerance: number): boolean {
  return [...one].every(([name, tensor]) => {
    const found = other.get(name);
    return (
      found !== undefined && shown(tensor.shape) === shown(found.shape) && isNear(tensor, found, tolerance)
    );
  });
}

function isNear(a: Tensor, b: Tensor, tolerance: number): boolean {
  return a.bytes.equals(b.bytes) || (isTolerated(a, tolerance) && farthestOf(a, b).apart <= tolerance);
}

function isTolerated({ datatype }: Tensor, tolerance: number): boolean {
  return tolerance > 0 && datatype.startsWith('FP');
}

/** Where numbers differ most, and by what share of the largest that is finite. NaN and infinities are far from all but themselves. */
function farthestOf(a: Tensor, b: Tensor): { readonly element: number; readonly apart: number } {
  const [left, right] = [a, b].map((tensor) => elementsOf(tensor).map(Number)) as [number[], number[]];
  const largest = left.reduce(
    (most, value) => Math.max(most, Number.isFinite(value) ? Math.abs(value) : 0),
    0,
  );
  let element = 0;
  let most = 0;
  for (let i = 0; i < left.length; i++) {
    if (left[i] === right[i] || (Number.isNaN(left[i]) && Number.isNaN(right[i]))) continue;
    const apart = Math.abs(left[i]! - right[i]!) / largest;
    const known = Number.isNaN(apart) ? Number.POSITIVE_INFINITY : apart;
    if (known > most) [element, most] = [i, known];
  }
  return { element, apart: most };
}

function differenceOf(a: Tensor, b: Tensor, tolerance: number): string {
  const { bytes: size, read } = DATATYPES[a.datatype]!;
  if (size === 0) return 'other bytes';
  const numbers = (element: number) =>
    `element ${element} is ${read(a.bytes, element * size)} and ${read(b.bytes, element * size)}`;
  if (isTolerated(a, tolerance)) {
    const { element } = farthestOf(a, b);
    return `${numbers(element)}, more than ${100 * tolerance} % of the largest apart`;
  }
  const at = [...a.bytes.keys()].find((i) => a.bytes[i] !== b.bytes[i])!;
  return numbers((at - (at % size)) / size);
}
