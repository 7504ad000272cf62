import type { DecodeTask } from '../../../src/live/frontend/http-body.js';
import { DATATYPES, type Datatype, type TensorSignature } from '../../../src/live/model.js';

type Json = Readonly<Record<string, unknown>>;

/** A body, whose JSON is so long; 0: it has none. */
export interface InferTask extends Pick<DecodeTask, 'model' | 'limits'> {
  readonly body: Uint8Array;
  readonly jsonBytes: number;
}

/** What an inference body says, written down by the protocol's rules alone and without any haste. */
export interface SlowBody {
  readonly id: string | null;
  readonly count: number;
  readonly sloNs: number;
  /** Without classes every request is of the first. */
  readonly requestClass: number;
  /** For each input its bytes, in hex. */
  readonly inputs: readonly string[];
  readonly shapes: readonly unknown[] | undefined;
  /** Of models that take inputs of one length. */
  readonly length: 0;
  readonly outputs: readonly { index: number; binary: boolean; classes: number }[];
}

/** A body that is to be refused. */
export class Refused extends Error {}

function check(condition: boolean): asserts condition {
  if (!condition) throw new Refused();
}

/**
 * Reads the body of an infer request; throws `Refused`. Knows neither infinities nor numbers that a double cannot hold,
 * and no bodies of texts without JSON.
 */
export function readSlowly(task: InferTask): SlowBody {
  const { body, jsonBytes, model, limits } = task;
  const { inputs, outputs } = model.signature;
  if (jsonBytes === 0) return readWhole(task);
  const root = objectIn(parse(body.subarray(0, jsonBytes)));
  const parameters = root.parameters == null ? {} : objectIn(root.parameters);
  checkParameters(parameters);
  check(root.id == null || typeof root.id === 'string');
  check(Array.isArray(root.inputs));
  const rest = [...body.subarray(jsonBytes)];
  const bytes = new Map<number, string>();
  const shapes: unknown[] = [];
  const counts = new Set<number>();
  for (const item of root.inputs) {
    const given = objectIn(item);
    const index = inputs.findIndex(({ name }) => name === given.name);
    check(index >= 0 && !bytes.has(index) && given.datatype === inputs[index].datatype);
    counts.add(countOf(given.shape, inputs[index], task));
    check(counts.size === 1);
    shapes[index] = given.shape;
    const elements = (given.shape as number[]).reduce((product, size) => product * size, 1);
    bytes.set(index, Buffer.from(tensorBytes(given, inputs[index].datatype, elements, rest)).toString('hex'));
  }
  check(rest.length === 0 && bytes.size === inputs.length);
  return {
    id: root.id ?? null,
    count: [...counts][0],
    sloNs: sloOf(parameters, model.sloNs ?? limits.defaultSloNs),
    requestClass: 0,
    inputs: inputs.map((_, index) => bytes.get(index) as string),
    shapes: isFree(task) ? shapes : undefined,
    length: 0,
    outputs: wanted(
      root.outputs,
      outputs.map(({ name }) => name),
      flag(parameters.binary_data_output) ?? false,
    ),
  };
}

/** A body that is the only input. */
function readWhole(task: InferTask): SlowBody {
  const { body, model, limits } = task;
  const { inputs, outputs, batched } = model.signature;
  check(inputs.length === 1);
  const [{ datatype, shape }] = inputs;
  const free = shape.filter((size) => size === -1).length;
  check(free <= 1);
  const known = shape.filter((size) => size !== -1).reduce((product, size) => product * size, 1);
  const perSize = known * DATATYPES[datatype].bytes;
  check(free === 1 ? body.length % perSize === 0 : body.length === perSize);
  const sizes = shape.map((size) => (size === -1 ? body.length / perSize : size));
  return {
    id: null,
    count: 1,
    sloNs: model.sloNs ?? limits.defaultSloNs,
    requestClass: 0,
    inputs: [Buffer.from(body).toString('hex')],
    shapes: isFree(task) ? [batched ? [1, ...sizes] : sizes] : undefined,
    length: 0,
    outputs: outputs.map((_, index) => ({ index, binary: true, classes: 0 })),
  };
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new Refused();
  }
}

function objectIn(value: unknown): Json {
  check(typeof value === 'object' && value !== null && !Array.isArray(value));
  return value as Json;
}

function flag(value: unknown): boolean | null {
  check(value == null || typeof value === 'boolean');
  return value ?? null;
}

const MEANINGLESS = ['content_type', 'headers'];
const ONLY_NOTHING = ['priority', 'sequence_id', 'sequence_start', 'sequence_end'];
const KNOWN = ['slo_ms', 'timeout', 'binary_data_output'];

function checkParameters(parameters: Json): void {
  for (const [name, value] of Object.entries(parameters)) {
    if (ONLY_NOTHING.includes(name)) check([0, '', false, null].includes(value as null));
    else check(MEANINGLESS.includes(name) || KNOWN.includes(name));
  }
}

function sloOf({ slo_ms: sloMs, timeout }: Json, otherwise: number): number {
  if (sloMs == null && (timeout == null || timeout === 0)) return otherwise;
  const [value, unitNs] = sloMs == null ? [timeout, 1e3] : [sloMs, 1e6];
  check(typeof value === 'number');
  const ns = Math.round(value * unitNs);
  check(ns >= 1 && ns <= 24 * 3600 * 1e9);
  return ns;
}

/** Tensors whose sizes the client chooses. */
function isFree({ model }: InferTask): boolean {
  const { inputs, outputs } = model.signature;
  return [...inputs, ...outputs].some(({ datatype, shape }) => datatype === 'BYTES' || shape.includes(-1));
}

/** Requests in a tensor of that shape. */
function countOf(shape: unknown, expected: TensorSignature, task: InferTask): number {
  check(Array.isArray(shape) && shape.every((size) => Number.isSafeInteger(size)));
  const { batched } = task.model.signature;
  const [count, ...sizes] = batched && !isFree(task) ? shape : [1, ...shape];
  check(sizes.length === expected.shape.length && count >= 1 && count <= (task.limits.maxBatch as number));
  expected.shape.forEach((size, i) => {
    check(size === -1 ? sizes[i] >= 0 : sizes[i] === size);
  });
  const elements = sizes.reduce((product, size) => product * size, DATATYPES[expected.datatype].bytes);
  check(!isFree(task) || elements <= (task.limits.maxBodyBytes as number));
  return count;
}

/** Takes what follows the JSON from the beginning of `rest`. */
function tensorBytes(given: Json, datatype: Datatype, elements: number, rest: number[]): number[] {
  const parameters = given.parameters == null ? {} : objectIn(given.parameters);
  for (const name of Object.keys(parameters))
    check(['binary_data_size', 'content_type', 'binary_data'].includes(name));
  const size = parameters.binary_data_size;
  if (size == null) {
    const values = rowMajor(given.data, given.shape as number[], elements);
    return values.flatMap((value) => element(datatype, value));
  }
  check(given.data == null && typeof size === 'number' && Number.isSafeInteger(size));
  check(size >= 0 && size <= rest.length);
  const bytes = rest.splice(0, size);
  if (datatype === 'BYTES') checkTexts(bytes, elements);
  else check(size === elements * DATATYPES[datatype].bytes);
  return bytes;
}

/** Flat, or nested as the shape says. */
function rowMajor(data: unknown, shape: readonly number[], elements: number): unknown[] {
  check(Array.isArray(data));
  if (data.length === elements && !data.some((value) => Array.isArray(value))) return data;
  let level: unknown[] = [data];
  for (const size of shape) {
    level = level.flatMap((values) => {
      check(Array.isArray(values) && values.length === size);
      return values;
    });
  }
  return level;
}

function checkTexts(bytes: readonly number[], elements: number): void {
  const buffer = Buffer.from(bytes);
  let at = 0;
  for (let i = 0; i < elements; i++) {
    check(at + 4 <= buffer.length);
    const end = at + 4 + buffer.readUInt32LE(at);
    check(end <= buffer.length);
    const text = buffer.subarray(at + 4, end);
    check(Buffer.from(text.toString()).equals(text) && !text.includes(0));
    at = end;
  }
  check(at === buffer.length);
}

function element(datatype: Datatype, value: unknown): number[] {
  const buffer = Buffer.alloc(DATATYPES[datatype].bytes);
  if (datatype === 'BYTES') {
    check(typeof value === 'string' && !value.includes('\0'));
    const text = Buffer.from(value);
    buffer.writeUInt32LE(text.length);
    return [...buffer, ...text];
  }
  if (datatype === 'BOOL') return [[false, true, 0, 1].indexOf(value as boolean | 0 | 1) % 2].map(bool);
  check(typeof value === 'number');
  const bits = buffer.length * 8;
  if (datatype === 'FP64') buffer.writeDoubleLE(value);
  else if (datatype === 'FP32') {
    check(Number.isFinite(Math.fround(value)));
    buffer.writeFloatLE(value);
  } else if (datatype === 'FP16') buffer.writeUInt16LE(half(value));
  else {
    const isSigned = datatype.startsWith('INT');
    const [least, most] = isSigned ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
    check(Number.isSafeInteger(value) && value >= least && value <= most);
    buffer.set(new Uint8Array(new BigInt64Array([BigInt(value)]).buffer, 0, buffer.length));
  }
  return [...buffer];
}

function bool(index: number): number {
  check(index >= 0);
  return index;
}

/** Of each half that is neither negative nor infinite, by its bits. */
const HALVES = Array.from({ length: 0x7c00 }, (_, bits) =>
  bits < 1024 ? bits * 2 ** -24 : (1 + (bits & 1023) / 1024) * 2 ** ((bits >> 10) - 15),
);

/** The half that is nearest, of two the even one: tries all. */
function half(value: number): number {
  check(Math.abs(value) < 65520);
  const errors = HALVES.map((size) => Math.abs(Math.abs(value) - size));
  let best = 0;
  for (let bits = 1; bits < errors.length; bits++) {
    if (errors[bits] < errors[best] || (errors[bits] === errors[best] && bits % 2 === 0)) best = bits;
  }
  return best + (value < 0 || Object.is(value, -0) ? 0x8000 : 0);
}

function wanted(outputs: unknown, names: readonly string[], binary: boolean): SlowBody['outputs'] {
  if (outputs == null) return names.map((_, index) => ({ index, binary, classes: 0 }));
  check(Array.isArray(outputs));
  const read = outputs.map((item) => {
    const given = objectIn(item);
    const index = names.indexOf(given.name as string);
    check(index >= 0);
    const parameters = given.parameters == null ? {} : objectIn(given.parameters);
    for (const name of Object.keys(parameters))
      check(['classification', 'content_type', 'binary_data'].includes(name));
    const classes = parameters.classification ?? 0;
    check(Number.isSafeInteger(classes) && (classes as number) >= 0);
    return { index, binary: flag(parameters.binary_data) ?? binary, classes: classes as number };
  });
  check(new Set(read.map(({ index }) => index)).size === read.length);
  return read;
}
