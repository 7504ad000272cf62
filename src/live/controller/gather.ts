import type { Action } from '../../core/action.js';
import { INFER, UNLOAD } from '../../core/action.js';
import type { ActionMessage, ResultMessage } from '../messages.js';
import type { TensorSignature } from '../model.js';
import type { InferenceRequest } from '../service.js';

/** The message that carries an action to its worker, `gpu` being counted there. */
export function actionMessage(
  action: Action,
  gpu: number,
  tensors: readonly TensorSignature[],
  requests: readonly (InferenceRequest | null)[],
): ActionMessage {
  const { id, kind, model, batchIndex, count, earliestNs, latestNs } = action;
  const message = { id, gpu, kind, model, batchIndex, count, earliestNs, latestNs };
  if (kind !== INFER) return { ...message, inputs: [] };
  const only = count === 1 ? requests[action.requests[0]] : null;
  // With free sizes a request has its own, and runs alone.
  if (only?.shapes !== undefined) {
    return { ...message, inputs: only.inputs.map((input) => new Uint8Array(input)), shapes: only.shapes };
  }
  return { ...message, inputs: tensors.map((tensor, i) => gather(action, tensor.bytes, i, requests)) };
}

/** Tells a worker to drop a model that the scheduler knows nothing of there; no caller waits for the result. */
export function unloadMessage(gpu: number, model: number): ActionMessage {
  const latestNs = Number.POSITIVE_INFINITY;
  return { id: -1, gpu, kind: UNLOAD, model, batchIndex: 0, count: 0, earliestNs: 0, latestNs, inputs: [] };
}

/** One input of all requests of the batch, one after the other: a copy, for they may have to be sent again. */
function gather(
  action: Action,
  bytes: number,
  input: number,
  requests: readonly (InferenceRequest | null)[],
): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(bytes * action.count);
  for (let i = 0; i < action.count; i++) {
    const request = requests[action.requests[i]];
    if (request !== null) all.set(request.inputs[input], i * bytes);
  }
  return all;
}

/** The outputs of request number `index` of a batch, as views of the batch's. */
export function scatter(
  { outputs, shapes }: Pick<ResultMessage, 'outputs' | 'shapes'>,
  tensors: readonly TensorSignature[],
  index: number,
): readonly Uint8Array[] {
  if (shapes !== undefined) return outputs;
  return outputs.map((all, o) => all.subarray(index * tensors[o].bytes, (index + 1) * tensors[o].bytes));
}
