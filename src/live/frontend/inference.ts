import type { Datatype, ModelSignature, ServedModel, Shape } from '../model.js';
import { ApiError, shown } from './api-error.js';
import { InputSet } from './inputs.js';
import { type Json, objectOf } from './json.js';
import type { Limits } from './limits.js';
import { outputIndex } from './outputs.js';
import { booleanParameter, outputParameters, requestParameters } from './parameters.js';
import { classOfPriority, type PriorityClass } from './priority.js';
import { requestSloNs } from './slo.js';

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
export interface WantedOutput {
  /** Index into the outputs of the model. */
  readonly index: number;
  readonly binary: boolean;
  /** So many of its largest elements, by name; 0: the output itself. */
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
  /** Length of its inputs, for a model that takes several; 0 for others. */
  readonly length: number;
  readonly outputs: readonly WantedOutput[];
}

/** Finds the bytes of an input. Throws an `ApiError`. */
type TensorReader = (input: Json, name: string, datatype: Datatype, bytes: number) => Uint8Array;

/** Checks a request against its model. Throws an `ApiError`. */
export function readInference(
  message: InferenceMessage,
  model: ServedModel,
  limits: InferenceLimits,
  read: TensorReader,
): Inference {
  const parameters = requestParameters(message.parameters, limits.classes);
  const set = new InputSet(model, limits);
  const { inputs } = message;
  if (inputs === undefined) throw new ApiError('invalid', 'inputs is missing: expected an array of tensors');
  if (!Array.isArray(inputs))
    throw new ApiError('invalid', `inputs: expected an array, got ${shown(inputs)}`);
  for (const item of inputs) {
    const input = objectOf(item, 'inputs');
    const index = set.claim(input.name, input.datatype, input.shape);
    const { name, datatype } = set.signatureOf(index);
    set.put(index, read(input, name, datatype, set.bytesOf(index)));
  }
  return {
    id: message.id,
    sloNs: requestSloNs(parameters.slo_ms, parameters.timeout, model, limits.defaultSloNs),
    requestClass: classOfPriority(parameters.priority, limits.classes),
    inputs: set.complete(),
    shapes: set.shapes,
    length: set.length,
    count: set.count,
    outputs: wantedOutputs(
      message.outputs,
      model.signature,
      booleanParameter(parameters, 'binary_data_output'),
    ),
  };
}

/** A body that is the only input of a model, and nothing else: for one request, which wants all outputs as binary data. */
export function wholeBody(body: Uint8Array, model: ServedModel, limits: InferenceLimits): Inference {
  const set = new InputSet(model, limits);
  set.claimWhole(body);
  return {
    id: null,
    sloNs: requestSloNs(undefined, undefined, model, limits.defaultSloNs),
    requestClass: 0,
    inputs: set.complete(),
    shapes: set.shapes,
    length: set.length,
    count: set.count,
    outputs: allOutputs(model.signature, true),
  };
}

function allOutputs({ outputs }: ModelSignature, binary: boolean): readonly WantedOutput[] {
  return outputs.map((_, index) => ({ index, binary, classes: 0 }));
}

function wantedOutputs(wanted: unknown, signature: ModelSignature, binary: boolean): readonly WantedOutput[] {
  if (wanted === undefined || wanted === null) return allOutputs(signature, binary);
  if (!Array.isArray(wanted))
    throw new ApiError('invalid', `outputs: expected an array, got ${shown(wanted)}`);
  const seen = new Set<number>();
  return wanted.map((item) => {
    const { name, parameters = null } = objectOf(item, 'outputs');
    const index = outputIndex(signature, name);
    if (seen.has(index)) throw new ApiError('invalid', `output ${shown(name)}: asked for twice`);
    seen.add(index);
    if (parameters === null) return { index, binary, classes: 0 };
    return { index, ...outputParameters(parameters, name as string, binary) };
  });
}
