import { STATUS_OK } from '../../../../core/action.js';
import { freeLarge } from '../../../free-buffers.js';
import type { ActionMessage, ResultMessage } from '../../../messages.js';
import { LARGE_BYTES } from '../../../parcel.js';
import type { ReturnedInputs } from '../worker-link.js';

interface Kept {
  readonly gpu: number;
  readonly inputs: ActionMessage['inputs'];
}

/** Large inputs that were handed over to this thread, until their results come: what did not run may be tried elsewhere. */
export class KeptInputs {
  private readonly kept = new Map<number, Kept>();

  add({ id, gpu, inputs }: ActionMessage): void {
    if (inputs.some(({ length }) => length > LARGE_BYTES)) this.kept.set(id, { gpu, inputs });
  }

  /** Those to give back with the result. Of what ran, none are needed any more: they are freed. */
  takeFor({ id, status }: ResultMessage): ActionMessage['inputs'] {
    const kept = this.kept.get(id);
    if (kept === undefined) return NONE;
    this.kept.delete(id);
    if (status !== STATUS_OK) return kept.inputs;
    freeLarge(kept.inputs);
    return NONE;
  }

  /** Those that were sent to the GPU; null: all. */
  takeAll(gpu: number | null): ReturnedInputs {
    const taken = new Map<number, ActionMessage['inputs']>();
    for (const [id, kept] of this.kept) if (gpu === null || kept.gpu === gpu) taken.set(id, kept.inputs);
    for (const id of taken.keys()) this.kept.delete(id);
    return taken;
  }
}

const NONE: ActionMessage['inputs'] = [];
