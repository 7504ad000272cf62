import { withoutFolders } from '../../base/printable.js';
import { NS_PER_MS } from '../../base/units.js';
import { type Action, INFER, STATUS_WORKER_LOST } from '../../core/action.js';
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
import { statusName } from '../../core/status-names.js';
import { LIMIT_NONE, LIMIT_PIPELINE, LIMIT_RATE, partsOf, type Tenant } from '../../core/tenants.js';
import { shareText } from '../../record/share-text.js';
import type { ResultMessage } from '../messages.js';
import type { ModelSignature, ServedModel } from '../model.js';
import {
  type InferenceAnswer,
  type InferenceRequest,
  overRateText,
  SHUTTING_DOWN,
  STANDS_BY,
  WORKER_LOST,
} from '../service.js';

/** Error of a pipeline's request that is given up between two steps. */
const NO_TIME_FOR_REST = 'there was no time for the rest of the pipeline';
/** Error of a request whose result is overdue. */
const NO_RESULT = 'the result of its INFER did not arrive';
const NO_OUTPUTS = { outputs: [] };

/** End of a pipeline's request: its outputs, or its error. */
export interface PipelineEnd
  extends Pick<InferenceAnswer, 'outputs' | 'shapes' | 'batchSize' | 'error' | 'isOfInputs'> {
  /** The step that ended last; '': none has. */
  readonly last: string;
}

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
    /** Reason why no GPU in service may run the model or pipeline; '': one may. */
    private readonly whyNowhere: (model: number) => string,
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

  /** Answers requests with an overdue result that can no longer be in time; the core learns of it later. */
  overdue({ arrivalNs, sloNs }: RequestTable, { kind, count, requests }: Action, nowNs: number): void {
    if (kind !== INFER) return;
    for (let r = 0; r < count; r++) {
      const slot = requests[r];
      const request = this.waiting[slot] ?? null;
      const passedNs = nowNs - arrivalNs[slot];
      if (request === null || passedNs <= sloNs[slot]) continue;
      this.answerAtOnce(slot, request, { ...notExecuted(OUTCOME_TIMEOUT, NO_RESULT), passedNs });
    }
  }

  /** Wraps an observer so that it sees the answers that requests actually got. `failed`: gets the reason if a request fails. */
  seenBy(
    observer: RunObserver,
    failed: (slot: number, answerOf: () => InferenceAnswer) => void,
  ): RunObserver {
    return {
      decided: (...all) => observer.decided?.(...all),
      answered: (requests, slot, outcome, nowNs, copies, action) => {
        if (outcome === OUTCOME_ERROR || outcome === OUTCOME_TIMEOUT)
          failed(slot, () => this.answerOf(requests, slot, outcome, nowNs, action));
        observer.answered(requests, slot, this.given.get(slot) ?? outcome, nowNs, copies, action);
      },
      cancelled: (...all) => observer.cancelled?.(...all),
      completed: (...all) => observer.completed(...all),
    };
  }

  /** Keeps a new request until its answer; null: it has one already. */
  begin(slot: number, request: InferenceRequest | null): void {
    this.given.delete(slot);
    this.waiting[slot] = request;
  }

  /**
   * Adds an answer of the core; `action`: the INFER that led to it, or null; `end`: what a pipeline has made of its
   * request.
   */
  add(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    action: Action | null,
    end?: PipelineEnd,
  ): void {
    const request = this.waiting[slot];
    if (request === null || request === undefined) return;
    this.waiting[slot] = null;
    const isServed = end !== undefined && outcome <= OUTCOME_LATE;
    const answer = isServed
      ? { outcome, predictedNs: 0, ...end }
      : this.answerOf(requests, slot, outcome, nowNs, action, end?.last);
    const isFailed = !isServed && end !== undefined && end.error !== '';
    this.ready.push({ request, answer: isFailed ? { ...answer, ...end } : answer });
  }

  /** Answers a waiting request at once, without telling the core. */
  answerAtOnce(slot: number, request: InferenceRequest, answer: InferenceAnswer): void {
    if (this.waiting[slot] !== request) return;
    this.waiting[slot] = null;
    this.given.set(slot, answer.outcome);
    request.done(answer);
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

  /** Gives answers that the core does not know of; it may still decide otherwise. */
  private giveAll(answer: InferenceAnswer): void {
    for (const [slot, request] of this.waiting.entries())
      if (request) this.answerAtOnce(slot, request, answer);
  }

  private answerOf(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    action: Action | null,
    lastStep = '',
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
      const passedNs = nowNs - requests.arrivalNs[slot];
      const after = lastStep === '' ? '' : ` after step ${lastStep}`;
      if (limit === LIMIT_PIPELINE)
        return notExecuted(outcome, `${NO_TIME_FOR_REST}: ${ms(passedNs)} had passed${after}`);
      if (limit !== LIMIT_NONE)
        return overLimit(limit, this.tenants[tenant], requests.predictedNs[slot], this.parts[tenant]);
      if (isForTime) {
        const whyNowhere = this.whyNowhere(requests.model[slot]);
        if (whyNowhere !== '') return notExecuted(outcome, whyNowhere);
        const predictedNs = requests.predictedNs[slot];
        return { ...notExecuted(outcome, ''), predictedNs, passedNs };
      }
      const error = action === null ? this.loadErrors[requests.model[slot]] : result?.error;
      return notExecuted(outcome, error ? withoutFolders(error) : whyFailed(action));
    }
    const signature = this.models[action.model]?.signature ?? NO_OUTPUTS;
    return {
      outcome,
      outputs: scatter(result ?? NO_OUTPUTS, signature, index),
      shapes: result?.shapes,
      predictedNs: 0,
      batchSize: action.batchSize,
      error: '',
    };
  }
}

/** Outputs of request number `index` of a batch: its own, or views of the batch's. */
export function scatter(
  { outputs, shapes }: Pick<ResultMessage, 'outputs' | 'shapes'>,
  { outputs: tensors, lengths }: Pick<ModelSignature, 'outputs' | 'lengths'>,
  index: number,
): readonly Uint8Array[] {
  const each = tensors.length;
  if (shapes !== undefined || outputs.length > each || lengths !== undefined)
    return outputs.slice(index * each, (index + 1) * each);
  return outputs.map((all, o) => all.subarray(index * tensors[o].bytes, (index + 1) * tensors[o].bytes));
}

function ms(ns: number): string {
  return `${(ns / NS_PER_MS).toFixed(3)} ms`;
}

/** Answer to a request that was not executed. */
export function notExecuted(outcome: Outcome, error: string): InferenceAnswer {
  return { outcome, outputs: NO_OUTPUTS.outputs, predictedNs: 0, batchSize: 0, error };
}

/** Answer to a request that came after the end, or was open then. */
export function tooLate(): InferenceAnswer {
  return notExecuted(OUTCOME_ERROR, SHUTTING_DOWN);
}

/** Answer beyond a tenant's limits; `waitNs`: time until the next request, if known; `part`: its share of all. */
function overLimit(limit: number, tenant: Tenant, waitNs: number, part: number): InferenceAnswer {
  const why =
    limit === LIMIT_RATE
      ? overRateText(tenant, waitNs)
      : `the tenant ${tenant.name} is over its share of ${shareText(part)} while the server is overloaded`;
  return { ...notExecuted(OUTCOME_REJECTED, why), predictedNs: waitNs, isOverLimit: true };
}

/** `action`: INFER of a failed request; null: none. */
function whyFailed(action: Action | null): string {
  if (action === null) return '';
  return action.status === STATUS_WORKER_LOST
    ? WORKER_LOST
    : `the INFER was not executed: ${statusName(action.status)}`;
}
