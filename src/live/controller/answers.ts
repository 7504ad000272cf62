import { withoutFolders } from '../../base/printable.js';
import { type Action, INFER } from '../../core/action.js';
import type { RunObserver } from '../../core/observer.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
  type RequestTable,
} from '../../core/request.js';
import { LIMIT_NONE, partsOf, type Tenant } from '../../core/tenants.js';
import type { ResultMessage } from '../messages.js';
import type { ModelSignature, ServedModel } from '../model.js';
import { type InferenceAnswer, type InferenceRequest, STANDS_BY } from '../service.js';
import { notExecuted, overLimit, tooLate, whyFailed } from './not-executed.js';
import { NO_WORKER } from './served-state.js';
import type { Waits } from './waits.js';

const NO_RESULT = { outputs: [] };
const NO_OUTPUTS = { outputs: [] };

/** Unanswered requests, and the answers of the current step of the core. */
export class Answers {
  /** By slot of the core's request table; null: answered. */
  readonly waiting: (InferenceRequest | null)[] = [];
  /** By action: results taken in by this step, which hold the outputs of its answers. */
  private results = new Map<number, ResultMessage>();
  private readonly ready: { readonly request: InferenceRequest; readonly answer: InferenceAnswer }[] = [];
  /** By slot: outcomes unknown to the core, of requests already answered, or with invalid inputs. */
  private readonly given = new Map<number, Outcome>();
  /** By tenant: share as a fraction of 1. */
  private readonly parts: readonly number[];
  /** By model: last load error of a device. */
  private readonly loadErrors: string[] = [];

  constructor(
    private readonly models: readonly (ServedModel | null)[],
    private readonly waits: Waits,
    private readonly isWorkerUp: () => boolean,
    private readonly tenants: readonly Tenant[] = [],
  ) {
    this.parts = partsOf(tenants);
  }

  /** Call before the core takes in the result. */
  takeIn(action: Action, result: ResultMessage): void {
    this.results.set(result.id, result);
    if (action.kind !== INFER) return;
    for (const [r, error] of (result.inputErrors ?? []).entries()) {
      const slot = action.requests[r];
      if (error !== '' && this.waiting[slot]) this.given.set(slot, OUTCOME_ERROR);
    }
  }

  loadFailed(model: number, error: string): void {
    this.loadErrors[model] = error;
  }

  /** Call when the model is gone. */
  forgetModel(model: number): void {
    delete this.loadErrors[model];
  }

  /** Answers requests whose result is overdue and that can no longer be in time; the core learns of it later. */
  overdue({ arrivalNs, sloNs }: RequestTable, { kind, count, requests }: Action, nowNs: number): void {
    if (kind !== INFER) return;
    for (let r = 0; r < count; r++) {
      const slot = requests[r];
      const request = this.waiting[slot];
      const passedNs = nowNs - arrivalNs[slot];
      if (request === null || passedNs <= sloNs[slot]) continue;
      const waitedFor = 'for the result of its INFER, which has not come';
      this.answerNow(slot, request, { ...notExecuted(OUTCOME_TIMEOUT, ''), passedNs, waitedFor });
    }
  }

  /** Wraps an observer so that it sees the answers that requests actually got. */
  seenBy(observer: RunObserver): RunObserver {
    return {
      decided: (...all) => observer.decided?.(...all),
      answered: (requests, slot, outcome, ...rest) =>
        observer.answered(requests, slot, this.given.get(slot) ?? outcome, ...rest),
      cancelled: (...all) => observer.cancelled?.(...all),
      completed: (...all) => observer.completed(...all),
    };
  }

  /** Adds an answer of the core; `action`: the INFER that led to it, or null. */
  add(requests: RequestTable, slot: number, outcome: Outcome, nowNs: number, action: Action | null): void {
    const request = this.waiting[slot];
    this.given.delete(slot);
    if (request === null || request === undefined) return;
    this.waiting[slot] = null;
    const answer = this.answerOf(requests, slot, outcome, nowNs, action, request.asleepNs ?? 0);
    this.ready.push({ request, answer });
  }

  /** Delivers the answers of a completed step: a client may send its next request at once. */
  give(): void {
    // A cleared map would refer to its next table, and keep all of them alive once it is in the old generation.
    if (this.results.size > 0) this.results = new Map();
    for (const { request, answer } of this.ready.splice(0)) request.done(answer);
  }

  /** Answers all remaining requests with an error at the end. */
  giveUp(): void {
    this.giveAll(tooLate());
  }

  /** Answers all remaining requests, which only the controller that now drives the workers could serve. */
  standBy(): void {
    this.giveAll(notExecuted(OUTCOME_REJECTED, STANDS_BY));
  }

  private answerNow(slot: number, request: InferenceRequest, answer: InferenceAnswer): void {
    this.waiting[slot] = null;
    this.given.set(slot, answer.outcome);
    this.ready.push({ request, answer });
  }

  /** The core does not know, and may still decide otherwise for them. */
  private giveAll(answer: InferenceAnswer): void {
    const { waiting, given } = this;
    for (const [slot, request] of waiting.entries()) {
      if (request === null || request === undefined) continue;
      waiting[slot] = null;
      given.set(slot, answer.outcome);
      request.done(answer);
    }
  }

  private answerOf(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    action: Action | null,
    asleepNs: number,
  ): InferenceAnswer {
    if (outcome === OUTCOME_CANCELLED) return notExecuted(outcome, '');
    const result = action === null ? undefined : this.results.get(action.id);
    const index = action === null ? -1 : action.requests.indexOf(slot);
    const inputError = result?.inputErrors?.[index] ?? '';
    if (inputError !== '') return { ...notExecuted(OUTCOME_ERROR, inputError), isOfInputs: true };
    if (action === null || (outcome !== OUTCOME_OK && outcome !== OUTCOME_LATE)) {
      // Rejected for a reason other than the SLO.
      const isForTime = outcome === OUTCOME_REJECTED || outcome === OUTCOME_TIMEOUT;
      const limit = requests.limit[slot];
      const tenant = requests.tenant[slot];
      if (limit !== LIMIT_NONE)
        return overLimit(limit, this.tenants[tenant], requests.predictedNs[slot], this.parts[tenant]);
      if (isForTime && !this.isWorkerUp()) return notExecuted(outcome, NO_WORKER);
      if (isForTime) {
        const passedNs = nowNs - requests.arrivalNs[slot];
        const predictedNs = requests.predictedNs[slot];
        const waitedFor = this.waits.of(requests, slot, asleepNs, nowNs);
        return { ...notExecuted(outcome, ''), predictedNs, passedNs, waitedFor };
      }
      const error = action === null ? this.loadErrors[requests.model[slot]] : result?.error;
      return notExecuted(outcome, error ? withoutFolders(error) : whyFailed(action));
    }
    const signature = this.models[action.model]?.signature ?? NO_OUTPUTS;
    return {
      outcome,
      outputs: scatter(result ?? NO_RESULT, signature, index),
      shapes: result?.shapes,
      predictedNs: 0,
      batchSize: action.batchSize,
      error: '',
    };
  }
}

/** Outputs of request number `index` of a batch: its own, or views of the batch's. */
function scatter(
  { outputs, shapes }: Pick<ResultMessage, 'outputs' | 'shapes'>,
  { outputs: tensors, lengths }: Pick<ModelSignature, 'outputs' | 'lengths'>,
  index: number,
): readonly Uint8Array[] {
  if (shapes !== undefined) return outputs;
  const each = tensors.length;
  if (outputs.length > each || lengths !== undefined) return outputs.slice(index * each, (index + 1) * each);
  return outputs.map((all, o) => all.subarray(index * tensors[o].bytes, (index + 1) * tensors[o].bytes));
}
