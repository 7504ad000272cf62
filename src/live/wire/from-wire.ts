import { EscapementError } from '../../base/errors.js';
import type { ActionKind } from '../../core/action.js';
import { checkModel, type ModelSpec } from '../../core/model.js';
import type { ActionMessage, ResultMessage, WorkerDescription, WorkerState } from '../messages.js';
import {
  DATATYPES,
  type Datatype,
  type ModelSignature,
  type ServedModel,
  type Shape,
  type TensorSignature,
} from '../model.js';
import type { ModelList } from '../model-list.js';
import type {
  Welcome,
  WireAction,
  WireModel,
  WireModelList,
  WireResult,
  WireState,
  WireTensor,
} from './protocol.js';

/**
 * Messages of the protocol as the plain objects of live mode. Tensors become arrays that own their memory: decoded ones
 * are parts of their message, and would take all of it along to another thread.
 */
export function actionFromWire(action: WireAction): ActionMessage {
  return {
    id: action.id,
    gpu: action.gpu,
    kind: action.kind as ActionKind,
    model: action.model,
    batchIndex: action.batchIndex,
    bucket: action.bucket ?? 0,
    count: action.count,
    earliestNs: action.earliestNs,
    latestNs: action.latestNs ?? Number.POSITIVE_INFINITY,
    inputs: action.inputs.map(owned),
    shapes: shapesFromWire(action.shapes),
  };
}

export function resultFromWire(result: WireResult): ResultMessage {
  return {
    id: result.id,
    gpu: result.gpu,
    status: result.status,
    beginNs: result.beginNs,
    endNs: result.endNs,
    copyInNs: result.copyInNs,
    copyOutNs: result.copyOutNs,
    outputs: result.outputs as ResultMessage['outputs'],
    shapes: shapesFromWire(result.shapes),
    error: result.error,
    inputErrors:
      result.inputErrors === undefined || result.inputErrors.length === 0 ? undefined : result.inputErrors,
  };
}

export function stateFromWire(state: WireState): WorkerState {
  const present = state.gpus.map((gpu) => gpu.present);
  const changes = state.changes.map(({ index, reference }) => ({ index, reference: reference ?? null }));
  return changes.length === 0 ? { present } : { present, changes };
}

export function modelListFromWire({ versions, problems, skipped, notes }: WireModelList): ModelList {
  const failed = problems.map(({ name, version, what }) => ({
    name,
    version: version ?? null,
    error: new EscapementError('E_MODEL_FILE', what),
  }));
  return { versions, problems: failed, skipped, notes };
}

/** Throws `E_PROFILE` if a model cannot be scheduled, and `Error` if a tensor's type is unknown here. */
export function descriptionFromWire(welcome: Welcome): WorkerDescription {
  return {
    gpus: welcome.gpus.map(({ name, provider, pages, oneLane }) => ({ name, provider, pages, oneLane })),
    pageBytes: welcome.pageBytes,
    models: welcome.models.map(modelFromWire),
    ...(welcome.instance === '' ? {} : { instance: welcome.instance }),
    ...(welcome.kind === '' ? {} : { kind: welcome.kind }),
  };
}

export function modelFromWire({
  spec,
  signature,
  version,
  sloNs,
  digest = '',
  labels = [],
}: WireModel): ServedModel {
  const named = labels.map(({ names }) => (names.length === 0 ? null : names));
  return {
    spec: checkModel(specFromWire(spec)),
    signature: {
      inputs: signature.inputs.map(tensorFromWire),
      outputs: signature.outputs.map(tensorFromWire),
      batched: signature.batched,
      ...lengthsFromWire(signature.lengths),
    },
    version,
    sloNs: sloNs ?? null,
    ...(digest === '' ? {} : { digest }),
    ...(named.length === 0 ? {} : { labels: named }),
  };
}

/** Absent ones are an empty list on the wire. */
function specFromWire({
  lengths = [],
  execNsByLength = [],
  equalLengths = false,
  ...same
}: WireModel['spec']): ModelSpec {
  if (lengths.length === 0) return same;
  return {
    ...same,
    lengths,
    execNsByLength: execNsByLength.map(({ execNs }) => execNs),
    ...(equalLengths ? { equalLengths } : {}),
  };
}

function lengthsFromWire(lengths: WireModel['signature']['lengths']): Pick<ModelSignature, 'lengths'> {
  if (lengths === undefined || lengths === null) return {};
  const { buckets, fill } = lengths;
  return { lengths: { buckets, fill: fill.length === 0 ? null : fill.map(({ value }) => value ?? null) } };
}

function tensorFromWire({ name, datatype, shape, bytes }: WireTensor): TensorSignature {
  if (!Object.hasOwn(DATATYPES, datatype)) throw new Error(`tensor ${name} is of unknown type ${datatype}`);
  return { name, datatype: datatype as Datatype, shape, bytes };
}

/** Absent ones are an empty list on the wire. */
function shapesFromWire(shapes: WireResult['shapes'] = []): readonly Shape[] | undefined {
  return shapes.length === 0 ? undefined : shapes.map(({ dims }) => dims);
}

function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}
