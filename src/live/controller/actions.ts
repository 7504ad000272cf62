import type { BitSet } from '../../base/bit-set.js';
import type { Clock } from '../../base/clock/clock.js';
import { NS_PER_S } from '../../base/units.js';
import type { Timer } from '../../base/world/time.js';
import {
  type Action,
  INFER,
  STATUS_ABORTED,
  STATUS_DEVICE_ERROR,
  STATUS_OK,
  UNLOAD,
} from '../../core/action.js';
import type { RequestTable } from '../../core/request.js';
import { type ActionMessage, type KeptPart, RETURNED, type ResultMessage } from '../messages.js';
import type { ServedModel } from '../model.js';
import type { InferenceRequest } from '../service.js';
import { copied } from '../transfer.js';
import type { Answers } from './answers.js';
import type { Fleet } from './fleet.js';

/** Actions decided in one step, until they are sent together with their tensors. */
export class Departures {
  private readonly actions: Action[] = [];

  constructor(
    private readonly fleet: Fleet,
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
    const { fleet, models } = this;
    const actions = this.actions.filter((action) => this.hasPoint(action, requests));
    this.actions.length = 0;
    const messages = actions.map((action) => {
      const inputsEach = models[action.model]?.signature.inputs.length ?? 0;
      return actionMessage(action, fleet.localGpu(action.gpu), inputsEach, requests);
    });
    const spentNs = Math.max(0, Math.ceil(this.clock.nowNs() - decidedNs));
    for (const [i, action] of actions.entries()) {
      action.latestNs += spentNs;
      action.slackNs += spentNs;
      fleet.post(action.gpu, { ...messages[i], latestNs: action.latestNs });
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
    private readonly options: { readonly clock: Clock; readonly fleet: Fleet; readonly hangNs: number },
  ) {
    this.timer = options.clock.time.every(WATCH_MS, () => this.look());
  }

  close(): void {
    this.timer.cancel();
  }

  private look(): void {
    const { answers } = this;
    const { clock, fleet, hangNs } = this.options;
    const nowNs = clock.nowNs();
    const actions = this.inFlight.all;
    for (const action of overdue(actions, nowNs, DOUBTED_TIMES, DOUBTED_NS))
      answers.overdue(this.requests, action, nowNs);
    answers.give();
    const hung = new Set(overdue(actions, nowNs, HUNG_TIMES, hangNs).map(({ gpu }) => gpu));
    for (const gpu of hung) fleet.restart(gpu, `GPU ${fleet.localGpu(gpu)} owes a result`);
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
