import { fromHalf, toHalf } from '../../src/live/half.js';
import { check, fail, shown } from './case.js';
import type { GrpcAnswer } from './grpc.js';
import type { HttpAnswer, Loose } from './http.js';

/** An input or output as the server's metadata describes it; −1: any size. */
export interface TensorMetadata {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
}

/** A tensor with its elements, little-endian; those of BYTES each after its length in four bytes. */
export interface Tensor extends TensorMetadata {
  readonly bytes: Buffer;
}

export type Outputs = ReadonlyMap<string, Tensor>;

/** What integers are made of: a random one might be no valid index, and a mask of zeros makes NaN of a softmax. */
export const INTEGERS = ['mixed', 'ones', 'zeros'] as const;

/** The protocol's types of elements, and the list of a gRPC message that holds them; FP16 travels raw only. */
const ARRAYS = {
  BOOL: [Uint8Array, 'bool_contents'],
  UINT8: [Uint8Array, 'uint_contents'],
  UINT16: [Uint16Array, 'uint_contents'],
  UINT32: [Uint32Array, 'uint_contents'],
  UINT64: [BigUint64Array, 'uint64_contents'],
  INT8: [Int8Array, 'int_contents'],
  INT16: [Int16Array, 'int_contents'],
  INT32: [Int32Array, 'int_contents'],
  INT64: [BigInt64Array, 'int64_contents'],
  FP16: [Uint16Array, null],
  FP32: [Float32Array, 'fp32_contents'],
  FP64: [Float64Array, 'fp64_contents'],
} as const;

export function isDatatype(name: string): boolean {
  return name === 'BYTES' || Object.hasOwn(ARRAYS, name);
}

/** The list of a gRPC message for a datatype; null: there is none. */
export function contentsOf(datatype: string): string | null {
  return datatype === 'BYTES' ? 'bytes_contents' : ARRAYS[datatype as keyof typeof ARRAYS][1];
}

export function countOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** Elements that came as JSON or in a gRPC list as bytes. Fails for one of another type. */
export function bytesOf(datatype: string, elements: readonly unknown[]): Buffer {
  if (datatype === 'BYTES') return Buffer.concat(elements.flatMap(withLength));
  const [array] = ARRAYS[datatype as keyof typeof ARRAYS];
  const numbers = elements.map((element) => {
    const isValue = ['number', 'boolean', 'string'].includes(typeof element);
    const isNumber = isValue && (!Number.isNaN(Number(element)) || String(element) === 'NaN');
    return isNumber ? Number(element) : fail(`an element is ${shown(element)}, not a value of ${datatype}`);
  });
  const make = array as unknown as { from(list: number[], each?: (n: number) => unknown): Float64Array };
  const each = datatype === 'FP16' ? toHalf : datatype.endsWith('INT64') ? BigInt : undefined;
  const values = make.from(numbers, each);
  const bad = datatype.startsWith('FP') ? -1 : numbers.findIndex((n, i) => Number(values[i]) !== n);
  check(bad < 0, `an element is ${numbers[bad]}, which ${datatype} cannot hold`);
  return Buffer.from(values.buffer);
}

function withLength(element: unknown): Buffer[] {
  const isText = typeof element === 'string' || element instanceof Uint8Array;
  const text = isText ? Buffer.from(element as string) : fail(`an element is ${shown(element)}, not text`);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return [length, text];
}

/** The elements of a BYTES tensor. Fails if lengths and bytes do not match. */
export function textsOf(bytes: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 <= bytes.length ? at + 4 + bytes.readUInt32LE(at) : Number.POSITIVE_INFINITY;
    if (end > bytes.length) fail('an element of a BYTES tensor is longer than its data');
    found.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return found;
}

/** Elements as JSON holds them. */
export function elementsOf({ datatype, bytes }: Omit<Tensor, 'shape'>): (number | boolean | string)[] {
  if (datatype === 'BYTES') return textsOf(bytes).map(String);
  const [array] = ARRAYS[datatype as keyof typeof ARRAYS];
  const values = Array.from(new array(Uint8Array.from(bytes).buffer), Number);
  if (datatype === 'BOOL') return values.map((value) => value !== 0);
  return datatype === 'FP16' ? values.map(fromHalf) : values;
}

/**
 * Inputs that fit the metadata: open sizes become `length`, but for the first, which becomes `rows`. Numbers with fractions
 * are multiples of 1/64, so that decimal digits and 16 bits hold them exactly; another `seed`, other values.
 */
export function makeInputs(
  inputs: readonly TensorMetadata[],
  { rows = 1, length = 1, seed = 0, integers = INTEGERS[0] as (typeof INTEGERS)[number] },
): Tensor[] {
  const elementOf = (datatype: string, i: number) => {
    if (datatype.startsWith('FP')) return ((7 * i + 13 * seed + 5) % 64) / 64;
    const one = integers === 'mixed' ? (i + seed + 1) % 2 : integers === 'ones' ? 1 : 0;
    return datatype === 'BYTES' ? `text ${one}` : one;
  };
  return inputs.map(({ name, datatype, shape: described }) => {
    const shape = described.map((size, i) => (size >= 0 ? size : i === 0 ? rows : length));
    const elements = Array.from({ length: countOf(shape) }, (_, i) => elementOf(datatype, i));
    return { name, datatype, shape, bytes: bytesOf(datatype, elements) };
  });
}

/** The outputs of an answer over HTTP, as JSON or binary. Fails if the answer is not as the protocol wants it. */
export function outputsOfHttp(answer: HttpAnswer): Outputs {
  check(answer.status === 200, `the status is ${answer.status}, not 200: ${shown(answer.text)}`);
  const { outputs } = answer.json();
  const { binary } = answer;
  let at = 0;
  check(Array.isArray(outputs), `"outputs" is ${shown(outputs)}, not a list`);
  const tensors = outputs.map(({ name, datatype, shape, data, parameters }) => {
    const size = parameters?.binary_data_size;
    if (size === undefined) {
      check(Array.isArray(data), `"data" is ${shown(data)}, not a list`);
      return tensorOf(name, datatype, shape, data.flat(Number.POSITIVE_INFINITY));
    }
    const bytes = binary?.subarray(at, at + size);
    check(
      bytes !== undefined && bytes.length === size,
      `output ${shown(name)} lacks bytes of ${shown(size)}`,
    );
    at += size;
    return tensorOf(name, datatype, shape, bytes);
  });
  check(at === (binary?.length ?? 0), 'bytes follow the last output');
  return named(tensors);
}

/** The outputs of a call, raw or as lists of values. */
export function outputsOfGrpc({ message, text }: GrpcAnswer): Outputs {
  check(message !== null, `it ends with ${text}`);
  const { outputs, raw_output_contents: raw } = message;
  check([0, outputs.length].includes(raw.length), `${raw.length} raw_output_contents come`);
  const tensors = outputs.map(({ name, datatype, shape, contents }: Loose, i: number) => {
    const lists = Object.values(contents ?? {}).filter((list) => (list as unknown[]).length > 0);
    check(raw.length === 0 || lists.length === 0, `output ${name} has raw contents and contents as well`);
    const list = isDatatype(datatype) ? (contentsOf(datatype) ?? '') : '';
    return tensorOf(name, datatype, shape.map(Number), raw[i] ?? contents?.[list] ?? []);
  });
  return named(tensors);
}

function tensorOf(name: string, datatype: string, shape: number[], data: Buffer | readonly unknown[]) {
  check(typeof name === 'string' && name !== '', `an output has the name ${shown(name)}`);
  check(isDatatype(datatype), `output ${shown(name)} has the datatype ${shown(datatype)}`);
  const isShape = Array.isArray(shape) && shape.every((size) => Number.isSafeInteger(size) && size >= 0);
  check(isShape, `output ${shown(name)} has the shape ${shown(shape)}`);
  const bytes = Buffer.isBuffer(data) ? data : bytesOf(datatype, data);
  const count =
    datatype === 'BYTES'
      ? textsOf(bytes).length
      : bytes.length / ARRAYS[datatype as keyof typeof ARRAYS][0].BYTES_PER_ELEMENT;
  check(
    count === countOf(shape),
    `output ${shown(name)} has the shape ${shown(shape)} and ${count} elements`,
  );
  return { name, datatype, shape, bytes };
}

function named(tensors: readonly Tensor[]): Outputs {
  const outputs = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  check(outputs.size === tensors.length, 'two outputs have the same name');
  return outputs;
}

/**
 * How far numbers of requests that share a batch may be from those of one alone, as a share of the largest. Other kernels sum
 * in another order; on GPUs in FP16, or in TF32 for FP32: both have 10 bits after the point, so that each layer may be off by
 * 0.1 %.
 */
export const BATCHED_TOLERANCE = 1e-2;

/** Fails unless outputs are equal: bit for bit, or with a tolerance for numbers with fractions. */
export function checkSame(wanted: Outputs, got: Outputs, tolerance = 0): void {
  const difference = differenceOf(wanted, got, tolerance);
  if (difference !== null) fail(difference);
}

/** What two answers differ in; null: nothing. */
export function differenceOf(wanted: Outputs, got: Outputs, tolerance: number): string | null {
  const names = shown([...got.keys()].sort());
  if (names !== shown([...wanted.keys()].sort())) return `the outputs are ${names}`;
  for (const [name, a] of wanted) {
    const b = got.get(name)!;
    const heads = [a, b].map(({ datatype, shape }) => `${datatype} ${shown(shape)}`);
    if (heads[0] !== heads[1]) return `output ${shown(name)} is ${heads[1]}, and was ${heads[0]}`;
    if (a.bytes.equals(b.bytes)) continue;
    const [left, right] = [elementsOf(a), elementsOf(b)];
    const most = a.datatype.startsWith('FP') ? tolerance : 0;
    const largest = left.reduce(
      (max: number, x) => (Number.isFinite(x) ? Math.max(max, Math.abs(+x)) : max),
      0,
    );
    const isNear = (x: unknown, i: number) =>
      Object.is(x, right[i]) || (most > 0 && Math.abs(Number(x) - Number(right[i])) <= most * largest);
    const at = left.findIndex((x, i) => !isNear(x, i));
    if (at >= 0) return `element ${at} of output ${shown(name)} is ${right[at]}, and was ${left[at]}`;
    if (most === 0) return `output ${shown(name)} has other bits`;
  }
  return null;
}
