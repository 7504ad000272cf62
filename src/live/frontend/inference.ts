import { NS_PER_HOUR, NS_PER_MS, NS_PER_US } from '../../base/units.js';
import { bytesAtLength, longestOf, stackableLength } from '../lengths.js';
import {
  bytesOfShape,
  DATATYPES,
  type Datatype,
  FREE,
  fitsShape,
  hasFreeSizes,
  type InputLengths,
  type ServedModel,
  type Shape,
  type TensorSignature,
} from '../model.js';
import { countTexts, textsProblem } from '../texts.js';
import { ApiError, shown } from './api-error.js';
import { isObject, type Json, objectOf, optionalObject } from './json.js';
import type { Limits } from './limits.js';

/** Limits and settings that requests are checked against. Plain data. */
export interface InferenceLimits extends Pick<Limits, 'maxBatch' | 'maxBodyBytes'> {
  readonly defaultSloNs: number;
  readonly classes: readonly PriorityClass[];
}

/** A request as either protocol carries it. */
interface InferenceMessage {
  readonly id: string | null;
  readonly parameters: unknown;
  readonly inputs: unknown;
  /** Null, absent: all there are. */
  readonly outputs?: unknown;
}

/** An output that the client wants, and how. */
interface WantedOutput {
  /** Index into the outputs of the model. */
  readonly index: number;
  /** Over HTTP: as binary data, not JSON. */
  readonly binary: boolean;
  /** Number of largest elements to return by name; 0: the output itself. */
  readonly classes: number;
}

/** Request to a model, checked against it. Plain data. */
export interface Inference {
  readonly id: string | null;
  /** Requests in the batch. */
  readonly count: number;
  readonly sloNs: number;
  /** Index of the class of its requests. */
  readonly requestClass: number;
  /** For each input of the model, requests one after the other. */
  readonly inputs: readonly Uint8Array[];
  /** Their whole shapes; only for a model with free sizes. */
  readonly shapes: readonly Shape[] | undefined;
  /** Length of its inputs, for a model that takes several; 0 for others, and where it runs alone. */
  readonly length: number;
  readonly outputs: readonly WantedOutput[];
}

/** An input with its name, datatype and shape checked. */
interface InputTensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: Shape;
  /** Required bytes; for texts, the least. */
  readonly bytes: number;
  /** Its `binary_data_size`; −1: none. */
  readonly binaryBytes: number;
}

/** Finds the bytes of an input. Throws an `ApiError`. */
export type TensorReader = (input: Json, tensor: InputTensor) => Uint8Array;

/** Checks a request of either protocol against its model. Throws an `ApiError`. */
export function readInference(
  message: InferenceMessage,
  model: ServedModel,
  limits: InferenceLimits,
  read: TensorReader,
): Inference {
  const parameters = requestParameters(message.parameters, limits.classes);
  const { inputs } = message;
  if (inputs === undefined) throw new ApiError('invalid', 'inputs is missing: expected an array of tensors');
  if (!Array.isArray(inputs))
    throw new ApiError('invalid', `inputs: expected an array, got ${shown(inputs)}`);
  const set = new InputSet(model, limits);
  for (const input of inputs) set.add(objectOf(input, 'inputs'), read);
  return {
    id: message.id,
    sloNs: requestSloNs(parameters, model, limits.defaultSloNs),
    requestClass: classOfPriority(parameters.priority, limits.classes),
    inputs: set.complete(),
    shapes: set.shapes,
    length: set.shapes === undefined ? set.length : stackableLength(model.signature, set.shapes),
    count: set.count,
    outputs: wantedOutputs(message.outputs, model, booleanParameter(parameters, 'binary_data_output')),
  };
}

/** A body that is the only input of a model, and nothing else: for one request, which wants all outputs as binary data. */
export function wholeBody(body: Uint8Array, model: ServedModel, limits: InferenceLimits): Inference {
  const { inputs, outputs } = model.signature;
  if (inputs.length !== 1) {
    const names = inputs.map(({ name }) => shown(name)).join(', ');
    throw new ApiError('invalid', `a body without JSON needs a model with one input, this one has ${names}`);
  }
  const [{ name, datatype }] = inputs;
  const input = { name, datatype, shape: wholeShape(body, model) };
  const message = { id: null, parameters: undefined, inputs: [input] };
  const inference = readInference(message, model, limits, () => body);
  return { ...inference, outputs: outputs.map((_, index) => ({ index, binary: true, classes: 0 })) };
}

/** The shape of a whole body, where no more than one size is free. */
function wholeShape(body: Uint8Array, { signature: { inputs, batched } }: ServedModel): Shape {
  const [{ name, datatype, shape }] = inputs;
  const free = shape.indexOf(FREE);
  if (free !== shape.lastIndexOf(FREE))
    throw wrongInput(
      name,
      `needs JSON that says its shape, as several sizes of [${shape.join(',')}] are free`,
    );
  const sizes = shape.map((size) => (size === FREE ? 1 : size));
  // What a text takes is known only from its length.
  const bytes = datatype === 'BYTES' ? countTexts(body) * DATATYPES.BYTES.bytes : body.length;
  if (free >= 0) sizes[free] = Math.floor(bytes / Math.max(1, bytesOfShape(datatype, sizes)));
  return batched ? [1, ...sizes] : sizes;
}

function wantedOutputs(wanted: unknown, model: ServedModel, binary: boolean): readonly WantedOutput[] {
  const { outputs } = model.signature;
  if (wanted === undefined || wanted === null)
    return outputs.map((_, index) => ({ index, binary, classes: 0 }));
  if (!Array.isArray(wanted))
    throw new ApiError('invalid', `outputs: expected an array, got ${shown(wanted)}`);
  const seen = new Set<number>();
  return wanted.map((item) => {
    const { name, parameters = null } = objectOf(item, 'outputs');
    const index = indexOf('output', model, name);
    if (seen.has(index)) throw new ApiError('invalid', `output ${shown(name)}: named twice`);
    seen.add(index);
    if (parameters === null) return { index, binary, classes: 0 };
    return { index, ...outputParameters(parameters, name as string, binary) };
  });
}

/** Collects the inputs of one request in the order of the model's signature, each checked against it. */
class InputSet {
  /** Requests in the batch; 0 until the first input was checked. */
  count = 0;
  /** Length of its inputs, if the model takes several and one was checked; 0 otherwise. */
  length = 0;
  private readonly signatures: readonly TensorSignature[];
  private readonly bytes: (Uint8Array | undefined)[];
  private readonly given: Shape[] = [];
  private readonly isFree: boolean;
  /** Largest batch, or number of rows. */
  private readonly most: number;

  constructor(
    private readonly model: ServedModel,
    private readonly limits: Pick<Limits, 'maxBatch' | 'maxBodyBytes'>,
  ) {
    this.signatures = model.signature.inputs;
    this.bytes = new Array(this.signatures.length);
    this.isFree = hasFreeSizes(model.signature);
    this.most = Math.min(limits.maxBatch, model.signature.maxBatch ?? limits.maxBatch);
  }

  /** The whole shapes of the inputs, where requests choose sizes. */
  get shapes(): readonly Shape[] | undefined {
    return this.isFree ? this.given : undefined;
  }

  /** Takes an input: requests one after the other. Throws an `ApiError`. */
  add(input: Json, read: TensorReader): void {
    const index = indexOf('input', this.model, input.name);
    const signature = this.signatures[index];
    const { name } = signature;
    if (this.bytes[index] !== undefined) throw wrongInput(name, 'given twice');
    const count = this.countOf(signature, input.shape);
    if (input.datatype !== signature.datatype || count === 0)
      throw wrongInput(name, `expected ${this.expected(signature)}, got ${got(input)}`);
    if (this.count !== 0 && count !== this.count)
      throw wrongInput(name, `expected a batch of ${this.count} like the inputs before it, got ${count}`);
    this.count = count;
    const shape = input.shape as Shape;
    this.given[index] = shape;
    const { datatype } = signature;
    const bytes = this.bytesOf(signature, shape);
    const binaryBytes = binarySize(input.parameters, name);
    const data = read(input, { name, datatype, shape, bytes, binaryBytes });
    if (datatype === 'BYTES') {
      const problem = textsProblem(data, bytes / DATATYPES.BYTES.bytes);
      if (problem !== '') throw wrongInput(name, problem);
    } else if (data.length !== bytes) throw wrongInput(name, `expected ${bytes} bytes, got ${data.length}`);
    this.bytes[index] = data;
  }

  /** All inputs. Throws an `ApiError` if one is missing. */
  complete(): readonly Uint8Array[] {
    const missing = this.signatures.find((_, i) => this.bytes[i] === undefined);
    if (missing === undefined) return this.bytes as Uint8Array[];
    throw wrongInput(missing.name, `missing, expected ${this.expected(missing)}`);
  }

  /** Bytes of an input. Throws an `ApiError` for sizes, chosen by the client, that need too much memory. */
  private bytesOf(signature: TensorSignature, shape: Shape): number {
    const { name, datatype, bytes } = signature;
    if (!this.isFree) return this.count * (this.length > 0 ? bytesAtLength(signature, this.length) : bytes);
    const { maxBodyBytes } = this.limits;
    const chosen = bytesOfShape(datatype, shape);
    if (chosen <= maxBodyBytes) return chosen;
    throw new ApiError(
      'tooLarge',
      `input ${shown(name)}: ${chosen} bytes are more than the largest body, ${maxBodyBytes} bytes`,
    );
  }

  /** Requests that a tensor of that shape holds; 0: it does not fit. */
  private countOf(signature: TensorSignature, shape: unknown): number {
    if (!Array.isArray(shape)) return 0;
    const expected = signature.shape;
    if (this.isFree) return isShape(shape) && fitsShape(shape, expected) && this.hasRows(shape) ? 1 : 0;
    const batchDims = this.model.signature.batched ? 1 : 0;
    if (shape.length !== expected.length + batchDims) return 0;
    for (const [i, size] of expected.entries())
      if (shape[i + batchDims] !== size && !this.isLength(signature, i, shape[i + batchDims])) return 0;
    const count = batchDims === 0 ? 1 : shape[0];
    return Number.isInteger(count) && count >= 1 && count <= this.most ? count : 0;
  }

  /** False for more rows than a model takes whose first dimension counts them. */
  private hasRows([rows]: Shape): boolean {
    return this.model.signature.maxBatch === undefined || rows <= this.most;
  }

  /** True if a size of an input is the length that requests choose. Throws an `ApiError` for one that the model does not take. */
  private isLength({ name, shape }: TensorSignature, dimension: number, size: unknown): boolean {
    const { lengths } = this.model.signature;
    if (lengths === undefined || shape[dimension] !== FREE || !Number.isSafeInteger(size)) return false;
    const length = size as number;
    if (this.length !== 0 && length !== this.length)
      throw wrongInput(name, `expected a length of ${this.length} like the inputs before it, got ${length}`);
    if (length < 1 || length > longestOf(lengths))
      throw wrongInput(name, `expected ${lengthsText(lengths)}, got ${length}`);
    this.length = length;
    return true;
  }

  private expected({ datatype, shape }: TensorSignature): string {
    const { batched, lengths, maxBatch } = this.model.signature;
    const isCounted = this.isFree && maxBatch !== undefined;
    const sizes = isCounted ? ['n', ...shape.slice(1)] : batched && !this.isFree ? ['n', ...shape] : shape;
    const free = lengths === undefined ? 'any size' : lengthsText(lengths);
    const meanings = [
      ...(sizes[0] === 'n' ? [`n from 1 to ${this.most}`] : []),
      ...(sizes.includes(FREE) ? [`${free} for -1`] : []),
    ];
    return [`${datatype} [${sizes.join(',')}]`, meanings.join(' and ')].filter(Boolean).join(' with ');
  }
}

/** Index of the tensor that a client names. Throws an `ApiError` if the model has none of that name. */
function indexOf(side: 'input' | 'output', { spec, signature }: ServedModel, name: unknown): number {
  const tensors = side === 'input' ? signature.inputs : signature.outputs;
  for (let i = 0; i < tensors.length; i++) if (tensors[i].name === name) return i;
  const known = `model ${spec.name} (${tensors.map((tensor) => shown(tensor.name)).join(', ')})`;
  const isNamed = name !== undefined && name !== null;
  throw new ApiError(
    'invalid',
    isNamed
      ? `${side} ${shown(name)}: not an ${side} of ${known}`
      : `an ${side} has no name: expected one of ${known}`,
  );
}

function wrongInput(name: string, what: string): ApiError {
  return new ApiError('invalid', `input ${shown(name)}: ${what}`);
}

function lengthsText(lengths: InputLengths): string {
  return `a length from 1 to ${longestOf(lengths)}`;
}

function isShape(values: readonly unknown[]): values is Shape {
  return values.every((value) => Number.isSafeInteger(value));
}

/** Datatype, without quotes where it is one, and shape that a client sent. */
function got({ datatype = null, shape = null }: Json): string {
  const isType = typeof datatype === 'string' && DATATYPES[datatype as Datatype] !== undefined;
  const type = datatype === null ? 'no datatype' : isType ? datatype : shown(datatype);
  return shape === null ? `${type} and no shape` : `${type} ${shown(shape)}`;
}

/** A class of requests as frontends know it. Plain data. */
export interface PriorityClass {
  readonly name: string;
  /** Values of the protocol's `priority` that mean it. */
  readonly priorities: readonly number[];
}

/** Parameters of a request. Those without a meaning here describe contents to other servers. */
const KNOWN = new Set(['slo_ms', 'timeout', 'priority', 'binary_data_output', 'content_type', 'headers']);
const OF_SEQUENCES = new Set(['sequence_id', 'sequence_start', 'sequence_end']);
/** Names under which clients try to send an SLO. */
const MEANS_SLO = /^(slo|deadline|latency)/i;

/**
 * The parameters of a whole request. Throws an `ApiError` for one that this server does not know, or that asks for what it cannot do:
 * to ignore it in silence would be a lie.
 */
export function requestParameters(given: unknown, classes: readonly PriorityClass[]): Json {
  const parameters = optionalObject(given, 'parameters');
  for (const name in parameters) {
    if (KNOWN.has(name)) continue;
    if (OF_SEQUENCES.has(name)) {
      if (isNothing(parameters[name])) continue;
      const why = 'models with state between requests are not supported';
      throw new ApiError('invalid', `parameter ${name}: ${why}`);
    }
    const known = hasPriorities(classes) ? 'slo_ms, timeout and priority' : 'slo_ms and timeout';
    const hint = MEANS_SLO.test(name) ? 'did you mean slo_ms?' : `a request may have ${known}`;
    throw new ApiError('invalid', `parameter ${shown(name)} is not supported; ${hint}`);
  }
  return parameters;
}

/** A value that clients may leave out, null: absent. Throws an `ApiError` that begins with `what` if it is not `expected`. */
function optional<T>(
  value: unknown,
  is: (value: unknown) => boolean,
  what: () => string,
  expected: string,
): T | null {
  if (value === undefined || value === null) return null;
  if (is(value)) return value as T;
  throw new ApiError('invalid', `${what()}: expected ${expected}, got ${shown(value)}`);
}

const isBoolean = (value: unknown) => typeof value === 'boolean';
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;

/** A parameter that is true or false; absent: false. Throws an `ApiError`. */
export function booleanParameter(parameters: Json, name: string): boolean {
  return optional<boolean>(parameters[name], isBoolean, () => `parameter ${name}`, 'true or false') ?? false;
}

/** A day: more than any client waits, and far from where times stop being exact. */
const MOST_NS = 24 * NS_PER_HOUR;

/**
 * SLO of one call, ns: its parameter `slo_ms`, or `timeout` in µs, or the model's, or the server's. Null is as if
 * absent, and so is a `timeout` of 0, which clients send by default. Throws an `ApiError` where a parameter is no such time.
 */
function requestSloNs(
  { slo_ms: sloMs, timeout: timeoutUs }: Json,
  model: ServedModel,
  defaultSloNs: number,
): number {
  if (sloMs !== undefined && sloMs !== null) return checkedNs('slo_ms', sloMs, NS_PER_MS);
  if (timeoutUs !== undefined && timeoutUs !== null && timeoutUs !== 0)
    return checkedNs('timeout', timeoutUs, NS_PER_US);
  return model.sloNs ?? defaultSloNs;
}

function checkedNs(parameter: string, value: unknown, unitNs: number): number {
  const ns = typeof value === 'number' ? Math.round(value * unitNs) : 0;
  if (ns >= 1 && ns <= MOST_NS) return ns;
  throw new ApiError(
    'invalid',
    `parameter ${parameter}: expected a number above 0 and up to ${MOST_NS / unitNs}, got ${shown(value)}`,
  );
}

/**
 * Index of the class that the protocol's parameter `priority` means; without one, and for 0, which clients send by
 * default, it is the first. Throws an `ApiError` for a value that means no class of this server.
 */
export function classOfPriority(priority: unknown, classes: readonly PriorityClass[]): number {
  if (priority === undefined || isNothing(priority)) return 0;
  const value = typeof priority === 'bigint' ? Number(priority) : priority;
  const index = classes.findIndex(({ priorities }) => priorities.includes(value as number));
  if (index >= 0) return index;
  const expected = hasPriorities(classes)
    ? `expected one of ${prioritiesOf(classes)}`
    : 'this server has no classes: send 0 or none, and slo_ms to say how urgent a request is';
  throw new ApiError('invalid', `parameter priority: ${expected}, got ${shown(priority)}`);
}

/** True if clients can ask for a class. */
function hasPriorities(classes: readonly PriorityClass[]): boolean {
  return classes.some(({ priorities }) => priorities.length > 0);
}

/** `0, 1 (gold), 8, 9 (batch-jobs)`: the values of each class. */
function prioritiesOf(classes: readonly PriorityClass[]): string {
  const texts = classes
    .filter(({ priorities }) => priorities.length > 0)
    .map(({ name, priorities }) => `${priorities.join(', ')} (${name})`);
  return ['0', ...texts].join(', ');
}

/** Values that clients send for none. */
function isNothing(value: unknown): boolean {
  return value === 0 || value === 0n || value === '' || value === false || value === null;
}

/** Bytes of an input that follows as binary data; −1: it does not. Throws an `ApiError`. */
function binarySize(given: unknown, input: string): number {
  if (given === undefined || given === null) return -1;
  const { binary_data_size: size } = parametersOf(given, 'input', input, 'binary_data_size');
  const what = () => `input ${shown(input)}: binary_data_size`;
  return optional<number>(size, isCount, what, 'a number of bytes') ?? -1;
}

/** Form in which an output is wanted. Throws an `ApiError`. */
function outputParameters(
  given: unknown,
  output: string,
  binaryByDefault: boolean,
): { readonly binary: boolean; readonly classes: number } {
  const { binary_data: binary, classification } = parametersOf(given, 'output', output, 'classification');
  const named = (parameter: string) => () => `output ${shown(output)}: ${parameter}`;
  return {
    binary: optional<boolean>(binary, isBoolean, named('binary_data'), 'true or false') ?? binaryByDefault,
    classes: optional<number>(classification, isCount, named('classification'), 'a number of classes') ?? 0,
  };
}

/**
 * The parameters of a tensor. Throws an `ApiError` for one other than `known` that is not about its contents alone: shared
 * memory and the like change what a tensor means, and cannot be passed over.
 */
function parametersOf(given: unknown, side: 'input' | 'output', tensor: string, known: string): Json {
  const parameters = isObject(given) ? given : objectOf(given, `${side} ${shown(tensor)}: parameters`);
  for (const name in parameters) {
    if (name === known || name === 'content_type' || name === 'binary_data') continue;
    const supported = side === 'input' ? known : `binary_data and ${known}`;
    throw new ApiError(
      'invalid',
      `${side} ${shown(tensor)}: parameter ${shown(name)} is not supported, only ${supported}`,
    );
  }
  return parameters;
}
