import type { Action } from '../../core/action.js';
import type { ModelSpec } from '../../core/model.js';

/** All inputs of the core, in order, as needed by a journal. */
export interface CoreInputs {
  offer(
    model: number,
    arrivalNs: number,
    sloNs: number,
    user: number,
    trace?: string | null,
    requestClass?: number,
    tenant?: number,
    length?: number,
  ): void;
  cancel(slot: number): void;
  /** `status`, `beginNs`, `endNs` and `clock` are filled in. */
  result(action: Action): void;
  gpuDown(gpu: number): void;
  gpuUp(gpu: number, present: readonly number[], kind: number): void;
  putModel(model: number, spec: ModelSpec): void;
  retireModel(model: number): void;
  step(nowNs: number): void;
}
