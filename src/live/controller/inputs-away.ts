import type { Action } from '../../core/action.js';
import type { ActionMessage } from '../messages.js';
import type { InferenceRequest } from '../service.js';

/** Returns unused inputs of an INFER to its requests. */
export function takeBack(
  { requests: slots, count }: Action,
  inputs: ActionMessage['inputs'],
  requests: readonly (InferenceRequest | null)[],
): void {
  const each = inputs.length / count;
  for (let r = 0; r < count; r++) {
    const request = requests[slots[r]];
    if (request?.mayMove === true) request.inputs = inputs.slice(r * each, (r + 1) * each);
  }
}

/** True if an input of the request was moved to another thread and has not come back. */
export function isAway({ mayMove, inputs }: InferenceRequest): boolean {
  if (mayMove !== true) return false;
  for (let i = 0; i < inputs.length; i++) if (inputs[i].buffer.byteLength === 0) return true;
  return false;
}
