import type { BitSet } from '../../base/bit-set.js';
import type { Clock } from '../../base/clock/clock.js';
import { withoutFolders } from '../../base/printable.js';
import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import type { Timer } from '../../base/world/time.js';
import {
  type Action,
  INFER,
  STATUS_ABORTED,
  STATUS_DEVICE_ERROR,
  STATUS_OK,
  STATUS_WORKER_LOST,
  UNLOAD,
} from '../../core/action.js';
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
import { type ActionMessage, type KeptPart, RETURNED, type ResultMessage } from '../messages.js';
import type { ModelSignature, ServedModel } from '../model.js';
import {
  type InferenceAnswer,
  type InferenceRequest,
  overRateText,
  SHUTTING_DOWN,
  STANDS_BY,
  WORKER_LOST,
} from '../service.js';
import { copied } from '../transfer.js';
import type { ClusterGpus } from './fleet-worker.js';

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

/** Actions decided in one step, until they are sent together with their tensors. */
export class Departures {
  private readonly actions: Action[] = [];

  constructor(
    private readonly gpus: ClusterGpus,
    private readonly models: readonly (ServedModel | null)[],
    private readonly clock: Clock,
    /** Called with an INFER whose requests are all answered, instead of sending it. */
    private readonly pointless: (action: Action) => void,
  ) {}

  add(action: Action): void {
    this.actions.push(action);
  }

  /**
   * Sends the actions decided at `decidedNs`. Deciding and copying inputs may take longer than a window: the elapsed
   * time is added to all of them.
   */
  leave(decidedNs: number, requests: readonly (InferenceRequest | null)[]): void {
    if (this.actions.length === 0) return;
    const { gpus, models } = this;
    const actions = this.actions.filter((action) => this.hasPoint(action, requests));
    this.actions.length = 0;
    const messages = actions.map((action) => {
      const inputsEach = models[action.model]?.signature.inputs.length ?? 0;
      return actionMessage(action, gpus.localOf(action.gpu), inputsEach, requests);
    });
    const spentNs = Math.max(0, Math.ceil(this.clock.nowNs() - decidedNs));
    for (const [i, action] of actions.entries()) {
      action.latestNs += spentNs;
      action.slackNs += spentNs;
      gpus.post(action.gpu, { ...messages[i], latestNs: action.latestNs });
    }
  }

  private hasPoint(action: Action, requests: readonly (InferenceRequest | null)[]): boolean {
    if (action.kind !== INFER) return true;
    for (let r = 0; r < action.count; r++) if (requests[action.requests[r]] !== null) return true;
    this.pointless(action);
    return false;
  }
}

/**
 * Message that carries an action to its worker, with the worker's `gpu` number. It has copies of the inputs, which can
 * move to another thread: the requests keep theirs, to be tried again.
 */
function actionMessage(
  action: Action,
  gpu: number,
  inputsEach: number,
  waiting: readonly (InferenceRequest | null)[],
): ActionMessage {
  const { id, kind, model, batchIndex, bucket, count, earliestNs, latestNs } = action;
  const message = { id, gpu, kind, model, batchIndex, bucket, count, earliestNs, latestNs };
  if (kind !== INFER) return { ...message, inputs: [] };
  const requests = Array.from({ length: count }, (_, r) => waiting[action.requests[r]]);
  // Another request runs twice in place of an answered one, since sizes may depend on lengths.
  const other = requests.find((request) => request !== null);
  const inputs: Uint8Array[] = [];
  const kept: KeptPart[] = [];
  for (const request of requests) {
    const { length } = inputs;
    const given = request ?? other;
    for (let i = 0; i < inputsEach; i++) inputs.push(given?.inputs[i] ?? NOTHING);
    for (const part of given?.kept ?? []) kept.push({ ...part, input: length + part.input });
  }
  const outputs = requests.find((request) => request?.keep !== undefined)?.keep ?? [];
  const keep = requests.flatMap((request) => request?.keep ?? outputs.map(() => RETURNED));
  return {
    ...{ ...message, inputs: copied(inputs) },
    // With free sizes all requests of a batch have the same.
    shapes: other?.shapes,
    ...(kept.length > 0 ? { kept } : {}),
    ...(keep.length > 0 ? { keep } : {}),
  };
}

const NOTHING = new Uint8Array();

/** Message that drops a model unknown to the scheduler from a worker; nothing waits for the result. */
export function unloadMessage(gpu: number, model: number): ActionMessage {
  const latestNs = Number.POSITIVE_INFINITY;
  return { id: -1, gpu, kind: UNLOAD, model, batchIndex: 0, count: 0, earliestNs: 0, latestNs, inputs: [] };
}

/** Result of an INFER that was not sent, because its requests are answered. */
export function unsentResult({ id, gpu }: Action, nowNs: number): ResultMessage {
  const times = { beginNs: nowNs, endNs: nowNs, copyInNs: 0, copyOutNs: 0 };
  return { id, gpu, status: STATUS_DEVICE_ERROR, ...times, outputs: [], error: '' };
}

/** Actions sent without a result. */
export class InFlight<Sent extends { readonly id: number; readonly gpu: number }> {
  /** By GPU: oldest first, and few. */
  private readonly ofGpu: Sent[][] = [];

  add(action: Sent): void {
    const { gpu } = action;
    this.ofGpu[gpu] ??= [];
    this.ofGpu[gpu].push(action);
  }

  /** Removes and returns the action sent to the GPU; null if it was given up before. */
  take(gpu: number, id: number): Sent | null {
    const actions = this.ofGpu[gpu] ?? [];
    const at = actions.findIndex((action) => action.id === id);
    return at < 0 ? null : actions.splice(at, 1)[0];
  }

  /** Removes and returns all actions sent to the GPU, oldest first. */
  takeAll(gpu: number): Sent[] {
    return this.ofGpu[gpu]?.splice(0) ?? [];
  }

  get all(): Sent[] {
    return this.ofGpu.flat();
  }
}

/** Actions whose results are overdue by more than `graceNs`, even at `times` the expected duration. */
export function overdue(actions: readonly Action[], nowNs: number, times: number, graceNs: number): Action[] {
  return actions.filter((action) => dueNs(action, times) + graceNs < nowNs);
}

function dueNs(action: Action, times: number): number {
  const startNs = Number.isFinite(action.latestNs) ? action.latestNs : action.expectedEndNs;
  // An UNLOAD is expected to end at 0: before everything else.
  return Math.max(startNs, action.sentNs) + times * action.expectedDurationNs;
}

/** Polling interval. */
const WATCH_MS = 100;

/** Doubt a result that has not arrived after this multiple of its action's expected time, plus this. */
const DOUBTED_TIMES = 2;
const DOUBTED_NS = NS_PER_S;
/** Give up its worker after this multiple of the expected time, plus the configured time. */
const HUNG_TIMES = 10;

/**
 * Watches for missing results: requests that wait for one are answered once their deadline has passed, since nothing
 * can be in time any more; workers that owe one for too long are given up.
 */
export class HangWatch {
  private readonly timer: Timer;

  constructor(
    private readonly inFlight: InFlight<Action>,
    private readonly answers: Answers,
    private readonly requests: RequestTable,
    private readonly options: { readonly clock: Clock; readonly gpus: ClusterGpus; readonly hangNs: number },
  ) {
    this.timer = options.clock.time.every(WATCH_MS, () => this.look());
  }

  close(): void {
    this.timer.cancel();
  }

  private look(): void {
    const { answers } = this;
    const { clock, gpus, hangNs } = this.options;
    const nowNs = clock.nowNs();
    const actions = this.inFlight.all;
    for (const action of overdue(actions, nowNs, DOUBTED_TIMES, DOUBTED_NS))
      answers.overdue(this.requests, action, nowNs);
    answers.give();
    const hung = new Set(overdue(actions, nowNs, HUNG_TIMES, hangNs).map(({ gpu }) => gpu));
    for (const gpu of hung) gpus.restart(gpu, `GPU ${gpus.localOf(gpu)} owes a result`);
  }
}

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
    private readonly gpus: Pick<ClusterGpus, 'giveUp'>,
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
      this.gpus.giveUp(gpu, `its last ${failures} INFERs failed, and other GPUs run their models: ${error}`);
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
