import type { BitSet } from '../../base/bit-set.js';
import { type Action, INFER, STATUS_ABORTED, STATUS_DEVICE_ERROR, STATUS_OK } from '../../core/action.js';
import type { ResultMessage } from '../messages.js';
import type { InferenceRequest } from '../service.js';
import type { Fleet } from './fleet.js';

/** Number of consecutive INFERs failed by a GPU after which it is given up. */
const MOST_FAILURES = 3;

/**
 * Distinguishes failures of a GPU from those of a model or a request: the GPU is at fault if another one runs the
 * model, as far as known, and the request has failed on no other.
 */
export class GpuFailures {
  /** By model and GPU: true if the last INFER there succeeded. */
  private readonly succeeded: Map<number, boolean>[] = [];
  /** By GPU: failures since an INFER succeeded there, or it came up. */
  private readonly inARow: number[] = [];

  /** `up`: GPUs in service. */
  constructor(
    private readonly up: BitSet,
    private readonly fleet: Pick<Fleet, 'giveUp'>,
  ) {}

  /**
   * Result as passed to the core: an INFER failed by its GPU counts as cancelled, so that those of its requests that
   * still wait are retried. A GPU that fails repeatedly is given up.
   */
  judge(action: Action, result: ResultMessage, waiting: readonly (InferenceRequest | null)[]): ResultMessage {
    const { status, error, inputErrors } = result;
    const { gpu, model } = action;
    if (action.kind !== INFER) return result;
    if (status === STATUS_OK) {
      this.inARow[gpu] = 0;
      this.ofModel(model).set(gpu, true);
    }
    // Without an error of its own it was not run, or its inputs are at fault.
    if (status !== STATUS_DEVICE_ERROR || error === '' || inputErrors !== undefined) return result;
    const runsElsewhere = this.runsElsewhere(model, gpu);
    this.ofModel(model).set(gpu, false);
    const failedElsewhere = markFailed(action, waiting);
    if (!runsElsewhere || failedElsewhere) return result;
    const failures = (this.inARow[gpu] ?? 0) + 1;
    this.inARow[gpu] = failures;
    if (failures === MOST_FAILURES)
      this.fleet.giveUp(gpu, `its last ${failures} INFERs failed, and other GPUs run their models: ${error}`);
    return { ...result, status: STATUS_ABORTED };
  }

  cameUp(gpu: number): void {
    this.inARow[gpu] = 0;
  }

  /** Call when the model is gone. */
  forgetModel(model: number): void {
    delete this.succeeded[model];
  }

  /** True if a GPU in service runs the model; if none has, one may that has not failed yet, unless others have. */
  private runsElsewhere(model: number, gpu: number): boolean {
    const others = [...this.ofModel(model)].filter(([other]) => other !== gpu);
    if (others.some(([other, ok]) => ok && this.up.has(other))) return true;
    return others.every(([, ok]) => ok) && this.up.count > (this.up.has(gpu) ? 1 : 0);
  }

  private ofModel(model: number): Map<number, boolean> {
    this.succeeded[model] ??= new Map();
    return this.succeeded[model];
  }
}

/** Records where waiting requests failed last. Returns true if one has failed on another GPU before. */
function markFailed(
  { gpu, requests, count }: Action,
  waiting: readonly (InferenceRequest | null)[],
): boolean {
  let failedElsewhere = false;
  for (let r = 0; r < count; r++) {
    const request = waiting[requests[r]];
    if (request === null || request === undefined) continue;
    failedElsewhere ||= request.failedOn !== undefined && request.failedOn !== gpu;
    request.failedOn = gpu;
  }
  return failedElsewhere;
}
