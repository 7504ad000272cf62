import type { ModelSignature, ServedModel, Shape } from '../model.js';
import type { JobResult } from './codec/job-result.js';
import { ownBuffers } from './codec/own-buffers.js';
import type { FrontendSettings } from './frontend.js';
import { InputSet } from './inputs.js';
import { ParsedData, type TensorData } from './json-data.js';
import { type Json, objectOf, parseObject } from './json-object.js';
import { LiftedLists, NotPlain } from './lifted-lists.js';
import { outputIndex } from './outputs.js';
import { binarySize, booleanParameter, outputParameters, requestParameters } from './parameters.js';
import { classOfPriority } from './priority.js';
import { Refusal, shown } from './refusal.js';
import { requestSloNs } from './slo.js';

/** An output that the client wants, and how. */
export interface WantedOutput {
  /** Index into the outputs of the model. */
  readonly index: number;
  readonly binary: boolean;
  /** So many of its largest elements, by name; 0: the output itself. */
  readonly classes: number;
}

/** The body of an infer request, and what it must fit. Plain data. */
export interface InferTask {
  readonly body: Uint8Array;
  /** Of the JSON at its beginning; 0: the body is the only input itself. */
  readonly jsonBytes: number;
  readonly model: ServedModel;
  readonly limits: Pick<FrontendSettings, 'maxBatch' | 'maxBodyBytes' | 'defaultSloNs' | 'classes'>;
}

/** What it says, checked against the model. Plain data. */
export interface InferBody {
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
  /** Of its inputs, for a model that takes several lengths; 0 for others. */
  readonly length: number;
  readonly outputs: readonly WantedOutput[];
}

/** Reads JSON, and the binary tensors behind it (binary tensor data extension). Throws a refusal. */
export function readInferBody(task: InferTask): InferBody {
  if (task.jsonBytes === 0) return readRawBody(task);
  return readLifted(task) ?? readParsed(task);
}

/**
 * Reads numbers straight from the bytes. Null: they are not plain, or the rest is no JSON: what is wrong, `readParsed` says.
 * What is wrong with the rest is said at once, so that millions of numbers for another shape cost little.
 */
function readLifted(task: InferTask): InferBody | null {
  const lists = LiftedLists.of(task.body, task.jsonBytes);
  if (lists === null) return null;
  let root: Json | null = null;
  try {
    root = parseObject(lists.rest, lists.rest.length).root;
    const read = readRoot(task, root, lists);
    return lists.areTaken ? read : null;
  } catch (error) {
    if (error instanceof NotPlain) return null;
    if (!(error instanceof Refusal)) throw error;
    if (root !== null && lists.areDataOf(root.inputs)) throw error;
    return null;
  }
}

function readParsed(task: InferTask): InferBody {
  const { root, hasInfinities } = parseObject(task.body, task.jsonBytes);
  return readRoot(task, root, new ParsedData(hasInfinities));
}

function readRoot({ body, jsonBytes, model, limits }: InferTask, root: Json, tensors: TensorData): InferBody {
  const parameters = requestParameters(root.parameters, limits.classes);
  const inputs = new InputSet(model, limits);
  readInputs(root.inputs, tensors, inputs, body, jsonBytes);
  return {
    id: idOf(root.id),
    sloNs: requestSloNs(parameters.slo_ms, parameters.timeout, model, limits.defaultSloNs),
    requestClass: classOfPriority(parameters.priority, limits.classes),
    inputs: inputs.complete(),
    shapes: inputs.shapes,
    length: inputs.length,
    count: inputs.count,
    outputs: wantedOutputs(root.outputs, model.signature, booleanParameter(parameters, 'binary_data_output')),
  };
}

/** The same as a job of codec threads. */
export function readInferBodyJob(task: InferTask): JobResult<InferBody> {
  const value = readInferBody(task);
  return { value, transfer: ownBuffers(value.inputs) };
}

/** A body that is the only input of a model, and nothing else: for one request, which wants all outputs as binary data. */
function readRawBody({ body, model, limits }: InferTask): InferBody {
  const { signature } = model;
  const inputs = new InputSet(model, limits);
  inputs.claimWhole(body);
  return {
    id: null,
    sloNs: requestSloNs(undefined, undefined, model, limits.defaultSloNs),
    requestClass: 0,
    inputs: inputs.complete(),
    shapes: inputs.shapes,
    length: inputs.length,
    count: inputs.count,
    outputs: allOutputs(signature, true),
  };
}

function idOf(id: unknown): string | null {
  if (id === undefined || id === null) return null;
  if (typeof id === 'string') return id;
  throw new Refusal('invalid', `id: expected a string, got ${shown(id)}`);
}

function readInputs(
  given: unknown,
  tensors: TensorData,
  inputs: InputSet,
  body: Uint8Array,
  binaryFrom: number,
): void {
  if (given === undefined) throw new Refusal('invalid', 'inputs is missing: expected an array of tensors');
  if (!Array.isArray(given)) throw new Refusal('invalid', `inputs: expected an array, got ${shown(given)}`);
  let at = binaryFrom;
  for (const item of given) {
    const tensor: Json = objectOf(item, 'inputs');
    const index = inputs.claim(tensor.name, tensor.datatype, tensor.shape);
    const { name, datatype } = inputs.signatureOf(index);
    const { data } = tensor;
    const bytes = binarySize(tensor.parameters, name);
    if (bytes < 0) {
      const sizes = tensor.shape as number[];
      inputs.put(index, tensors.bytesOf(name, datatype, sizes, data));
    } else if (data !== undefined && data !== null) {
      throw new Refusal('invalid', `input ${shown(name)}: has both data and binary_data_size`);
    } else {
      const left = body.length - at;
      if (bytes > left)
        throw new Refusal(
          'invalid',
          `input ${shown(name)}: binary_data_size is ${bytes}, but ${left} bytes are left`,
        );
      inputs.put(index, body.subarray(at, at + bytes));
      at += bytes;
    }
  }
  if (at < body.length) {
    const stray = body.length - at;
    throw new Refusal('invalid', `the body has ${stray} bytes of binary data that belong to no input`);
  }
}

function allOutputs({ outputs }: ModelSignature, binary: boolean): readonly WantedOutput[] {
  return outputs.map((_, index) => ({ index, binary, classes: 0 }));
}

function wantedOutputs(wanted: unknown, signature: ModelSignature, binary: boolean): readonly WantedOutput[] {
  if (wanted === undefined || wanted === null) return allOutputs(signature, binary);
  if (!Array.isArray(wanted))
    throw new Refusal('invalid', `outputs: expected an array, got ${shown(wanted)}`);
  const seen = new Set<number>();
  return wanted.map((item) => {
    const { name, parameters } = objectOf(item, 'outputs');
    const index = outputIndex(signature, name);
    if (seen.has(index)) throw new Refusal('invalid', `output ${shown(name)}: asked for twice`);
    seen.add(index);
    return wantedOutput(index, name as string, parameters, binary);
  });
}

function wantedOutput(index: number, name: string, parameters: unknown, binary: boolean): WantedOutput {
  if (parameters === undefined || parameters === null) return { index, binary, classes: 0 };
  const how = outputParameters(parameters, name, binary);
  return { index, binary: how.binary, classes: how.classes };
}
