import { type Action, LOAD, STATUS_OK } from '../core/action.js';
import { type ModelSpec, shortestExecNs } from '../core/model.js';
import { OUTCOME_OK, type Outcome, type RequestTable } from '../core/request.js';
import { causeIndex } from './causes.js';

/** Finds why requests failed; it must see every finished action, in order. One per run, fed by the recorder. */
export class CauseFinder {
  /** By model: when it was loaded onto a GPU while no other held it. */
  private readonly heldSinceNs: number[] = [];

  /** Live, models are added to and removed from `models`. */
  constructor(private readonly models: readonly ModelSpec[]) {}

  completed({ kind, status, model }: Action, nowNs: number, copies: number): void {
    if (kind === LOAD && status === STATUS_OK && copies === 1) this.heldSinceNs[model] = nowNs;
  }

  /** Index into `CAUSES` of a request that is being answered; −1: answered in time. */
  indexOf(requests: RequestTable, slot: number, outcome: Outcome, nowNs: number, copies: number): number {
    if (outcome === OUTCOME_OK) return -1;
    const warm = requests.arrivalCopies[slot] > 0 || this.fitsInfer(requests.model[slot], nowNs);
    return causeIndex(outcome, requests.failedStatus[slot], !(copies > 0 && warm), requests.limit[slot]);
  }

  /** True if some GPU has held the model for as long as an INFER of one request takes. */
  private fitsInfer(model: number, nowNs: number): boolean {
    const sinceNs = this.heldSinceNs[model] ?? Number.NEGATIVE_INFINITY;
    return nowNs - sinceNs >= shortestExecNs(this.models[model]);
  }
}
