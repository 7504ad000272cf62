import { STATUS_DEVICE_ERROR } from '../../core/action.js';
import type { ModelSpec } from '../../core/model.js';
import type {
  ActionMessage,
  ModelReference,
  ResultMessage,
  WorkerDescription,
  WorkerState,
} from '../messages.js';
import type { ModelSignature, ServedModel, Shape } from '../model.js';
import type { ModelList } from '../model-list.js';
import { ENVELOPE_BYTES, tensorBytes } from './chunks.js';
import type {
  Welcome,
  WireAction,
  WireModel,
  WireModelChange,
  WireModelList,
  WireResult,
  WireState,
} from './protocol.js';

/** Plain objects of live mode as messages of the protocol. Nothing is copied. */
export function actionToWire(action: ActionMessage): WireAction {
  const { latestNs, shapes, bucket = 0, ...same } = action;
  const rest = { ...same, bucket, ...shapesToWire(shapes) };
  return latestNs === Number.POSITIVE_INFINITY ? rest : { ...rest, latestNs };
}

export function resultToWire({ shapes, inputErrors = NONE, ...same }: ResultMessage): WireResult {
  return { ...same, inputErrors, ...shapesToWire(shapes) };
}

const NONE: readonly never[] = [];

function shapesToWire(shapes: readonly Shape[] | undefined): Pick<WireResult, 'shapes'> {
  return shapes === undefined ? {} : { shapes: shapes.map((dims) => ({ dims })) };
}

/** Returns the result, or an error in its place if its outputs exceed the controller's message limit. */
export function withinLimit(result: ResultMessage, maxMessageBytes: number): ResultMessage {
  const mostBytes = maxMessageBytes - ENVELOPE_BYTES;
  const bytes = tensorBytes(result.outputs);
  if (bytes <= mostBytes) return result;
  const error = `outputs of ${bytes} bytes exceed the controller's message limit of ${mostBytes}`;
  const nothing = { outputs: [], shapes: undefined, inputErrors: undefined };
  return { ...result, ...nothing, status: STATUS_DEVICE_ERROR, error };
}

export function stateToWire(number: number, { present, changes = [] }: WorkerState): WireState {
  return {
    number,
    gpus: present.map((models) => ({ present: models })),
    changes: changes.map(({ index, reference }) => modelChangeToWire(0, index, reference)),
  };
}

export function modelChangeToWire(
  number: number,
  index: number,
  reference: ModelReference | null,
): WireModelChange {
  return reference === null ? { number, index } : { number, index, reference };
}

/** Without paths: those are for the worker's own log. */
export function modelListToWire(number: number, { problems, ...list }: ModelList): WireModelList {
  const failed = problems.map(({ name, version, error: { what } }) =>
    version === null ? { name, what } : { name, version, what },
  );
  return { ...list, number, error: '', problems: failed };
}

/** `instance`: see `Welcome`. */
export function descriptionToWire(
  description: WorkerDescription,
  maxMessageBytes: number,
  instance = '',
): Welcome {
  const { gpus, pageBytes, models, kind = '' } = description;
  return { gpus, pageBytes, models: models.map(modelToWire), maxMessageBytes, instance, kind };
}

export function modelToWire({
  spec,
  signature,
  version,
  sloNs,
  digest = '',
  labels,
}: ServedModel): WireModel {
  const named = (labels ?? []).map((names) => ({ names: names ?? [] }));
  const wired = { spec: specToWire(spec), signature: signatureToWire(signature) };
  const model = { ...wired, version, digest, labels: named };
  return sloNs === null ? model : { ...model, sloNs };
}

function specToWire(spec: ModelSpec): WireModel['spec'] {
  const { execNsByLength, ...same } = spec;
  if (execNsByLength === undefined) return same;
  return { ...same, execNsByLength: execNsByLength.map((execNs) => ({ execNs })) };
}

function signatureToWire(signature: ModelSignature): WireModel['signature'] {
  const { lengths, ...same } = signature;
  if (lengths === undefined) return same;
  const fill = (lengths.fill ?? []).map((value) => (value === null ? {} : { value }));
  return { ...same, lengths: { buckets: lengths.buckets, fill } };
}
