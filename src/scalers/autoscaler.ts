import { invariant } from '../base/invariant.js';
import { type Action, INFER, LANE_EXEC, LANE_WEIGHTS, LOAD, STATUS_OK } from '../core/action.js';
import type { Cluster } from '../core/cluster.js';
import { timesOn } from '../core/model.js';
import type { RunObserver } from '../core/observer.js';
import { predictLatencyNs } from '../core/prediction.js';
import {
  OUTCOME_LATE,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
  REQUEST_FREE,
  REQUEST_QUEUED,
  type RequestTable,
} from '../core/request.js';
import type { GpuCount, ScaledKind, Scaler, ScalingCause, ScalingDecision } from '../core/scaler.js';
import { LIMIT_RATE } from '../core/tenants.js';

/** Weight of a new measurement in the mean time per request. */
const NEW_SHARE = 0.05;

/** Constant properties of a kind of GPU. */
export interface KindFacts extends Pick<ScaledKind, 'name' | 'pricePerHour' | 'startNs' | 'min' | 'max'> {
  /** Minimum lifetime of a GPU, from its order on. */
  readonly minLifetimeNs: number;
}

/** Parts of the controller that an autoscaler reads. */
export interface Scheduled {
  readonly cluster: Cluster;
  readonly requests: RequestTable;
}

/**
 * Reports the controller's state to a scaler. It observes answers and results as they happen, in simulation or live;
 * the code that starts and stops GPUs calls it once per interval. Pure, like the scaler.
 */
export class Autoscaler implements RunObserver {
  private scheduled: Scheduled | null = null;
  private lastNs = 0;
  /** Since the last decision: answers by model and in total; busy time by kind and lane. */
  private answersOf = new Float64Array(0);
  private ok = 0;
  private answers = 0;
  private failed: Record<ScalingCause, number> = noFailures();
  private busyNs: number[][];
  private readonly lifetimes: Lifetimes;
  /** By model: unanswered requests at the last decision. */
  private unanswered: Float64Array = new Float64Array(0);
  private reachedNs = new Float64Array(0);
  private sloNs = new Float64Array(0);
  /** By kind of the scaler: its index in the cluster; and the reverse, −1 for a kind that is not scaled. */
  private clusterKinds: readonly number[] = [];
  private scaledKinds: readonly number[] = [];

  constructor(
    private readonly scaler: Scaler,
    private readonly kinds: readonly KindFacts[],
    readonly intervalNs: number,
  ) {
    this.busyNs = kinds.map(() => [0, 0]);
    this.lifetimes = new Lifetimes(kinds.map(({ minLifetimeNs }) => minLifetimeNs));
  }

  /** Call once, before anything happens. `clusterKinds`: index in the cluster of each kind of the scaler. */
  follow(scheduled: Scheduled, clusterKinds: readonly number[] = this.kinds.map((_, kind) => kind)): void {
    this.scheduled = scheduled;
    this.clusterKinds = clusterKinds;
    this.scaledKinds = Array.from({ length: scheduled.cluster.kinds }, (_, of) => clusterKinds.indexOf(of));
    const models = scheduled.cluster.models.length;
    this.answersOf = new Float64Array(models);
    this.unanswered = new Float64Array(models);
    this.reachedNs = new Float64Array(models);
    this.sloNs = new Float64Array(models);
  }

  answered(requests: RequestTable, slot: number, outcome: Outcome, _nowNs: number, copies: number): void {
    // More GPUs would not help.
    if (requests.limit[slot] === LIMIT_RATE) return;
    const model = requests.model[slot];
    this.answersOf[model]++;
    this.sloNs[model] = requests.sloNs[slot];
    this.answers++;
    if (outcome === OUTCOME_OK) this.ok++;
    else this.failed[causeOf(outcome, copies)]++;
  }

  completed(action: Action): void {
    const { kind, gpu, model, batchIndex, beginNs, endNs, count, status } = action;
    if (this.scheduled === null || (kind !== INFER && kind !== LOAD)) return;
    const { cluster } = this.scheduled;
    const of = cluster.kindOf[gpu];
    const scaled = this.scaledKinds[of];
    if (scaled >= 0 && endNs > beginNs)
      this.busyNs[scaled][kind === INFER ? LANE_EXEC : LANE_WEIGHTS] += endNs - beginNs;
    if (kind !== INFER || status !== STATUS_OK) return;
    const spec = cluster.models[model];
    const relative = timesOn(spec, 0).execNs[batchIndex] / timesOn(spec, of).execNs[batchIndex];
    const requestNs = ((endNs - beginNs) * relative) / count;
    const reachedNs = this.reachedNs[model];
    this.reachedNs[model] = reachedNs === 0 ? requestNs : reachedNs + NEW_SHARE * (requestNs - reachedNs);
  }

  /** Asks the scaler. `counts`: by kind. */
  decide(counts: readonly GpuCount[], nowNs: number): ScalingDecision {
    const { scheduled, intervalNs } = this;
    invariant(scheduled !== null, 'an autoscaler follows a controller before it decides');
    const passedNs = Math.max(1, nowNs - this.lastNs);
    const { queued, unanswered } = countWaiting(scheduled);
    const arrivals = this.answersOf.map((answers, model) =>
      Math.max(0, answers + unanswered[model] - this.unanswered[model]),
    );
    const decision = this.scaler.decide({
      nowNs,
      intervalNs,
      kinds: this.kinds.map((facts, kind) => {
        const count = counts[kind];
        const laneNs = Math.max(1, count.on) * passedNs;
        const [execNs, weightsNs] = this.busyNs[kind];
        return {
          ...facts,
          ...count,
          speed: speedOf(scheduled.cluster, this.clusterKinds[kind]),
          execUtilization: execNs / laneNs,
          weightsUtilization: weightsNs / laneNs,
        };
      }),
      models: scheduled.cluster.models,
      arrivals,
      queued,
      reachedNs: this.reachedNs,
      sloNs: this.sloNs,
      ok: this.ok,
      answered: this.answers,
      failed: this.failed,
      predictedAttainment: this.predictAttainment(scheduled, arrivals, queued, nowNs),
    });
    this.startInterval(unanswered, nowNs);
    const wanted = this.kinds.map(({ min, max }, kind) => clamp(decision.gpus[kind], min, max));
    const gpus = this.lifetimes.keep(wanted, counts, nowNs);
    return { gpus, reason: `${decision.reason}${this.youngText(wanted, gpus)}` };
  }

  /** Note on GPUs kept only because they were ordered recently. */
  private youngText(wanted: readonly number[], kept: readonly number[]): string {
    const young = this.kinds.flatMap(({ name }, kind) =>
      kept[kind] > wanted[kind] ? `${kept[kind] - wanted[kind]} × ${name || 'GPU'}` : [],
    );
    return young.length === 0 ? '' : `; minLifetime keeps ${young.join(' and ')} more`;
  }

  /** Share of the arrivals for which a request for the same model would be in time if it came now. */
  private predictAttainment(
    { cluster }: Scheduled,
    arrivals: Float64Array,
    queued: Float64Array,
    nowNs: number,
  ): number {
    let all = 0;
    let inTime = 0;
    for (let model = 0; model < arrivals.length; model++) {
      if (arrivals[model] === 0 || !cluster.hasModel(model)) continue;
      all += arrivals[model];
      const latencyNs = predictLatencyNs(cluster, model, queued[model], nowNs);
      if (this.sloNs[model] === 0 || latencyNs <= this.sloNs[model]) inTime += arrivals[model];
    }
    return all === 0 ? 1 : inTime / all;
  }

  private startInterval(unanswered: Float64Array, nowNs: number): void {
    this.lastNs = nowNs;
    this.answersOf.fill(0);
    this.unanswered = unanswered;
    this.ok = 0;
    this.answers = 0;
    this.failed = noFailures();
    this.busyNs = this.kinds.map(() => [0, 0]);
  }
}

function countWaiting({ cluster, requests }: Scheduled) {
  const queued = new Float64Array(cluster.models.length);
  const unanswered = new Float64Array(cluster.models.length);
  const { state, model } = requests;
  for (let slot = 0; slot < state.length; slot++) {
    if (state[slot] === REQUEST_FREE) continue;
    unanswered[model[slot]]++;
    if (state[slot] === REQUEST_QUEUED) queued[model[slot]]++;
  }
  return { queued, unanswered };
}

function causeOf(outcome: Outcome, copies: number): ScalingCause {
  if (outcome === OUTCOME_REJECTED) return 'refused';
  if (outcome === OUTCOME_LATE) return 'late';
  if (outcome === OUTCOME_TIMEOUT) return copies === 0 ? 'cold' : 'timedOut';
  return 'other';
}

function noFailures(): Record<ScalingCause, number> {
  return { refused: 0, timedOut: 0, cold: 0, late: 0, other: 0 };
}

/** Speed on batches of one; models that do not fit the kind count as served elsewhere. */
function speedOf({ models, kinds }: Cluster, kind: number): number {
  if (kinds === 1 || kind === 0) return 1;
  let sum = 0;
  let count = 0;
  for (const spec of models) {
    if (spec.batchSizes.length === 0) continue;
    sum += timesOn(spec, 0).execNs[0] / timesOn(spec, kind).execNs[0];
    count++;
  }
  return count === 0 ? 1 : sum / count;
}

function clamp(gpus: number, min: number, max: number): number {
  invariant(Number.isFinite(gpus), 'a scaler says how many GPUs it wants');
  return Math.min(max, Math.max(min, Math.ceil(gpus)));
}

/** GPUs of a kind ordered at the same time. */
interface Order {
  readonly atNs: number;
  readonly gpus: number;
}

/** Keeps a scaler from stopping recently ordered GPUs: clouds bill a minimum time, and each start costs again. */
export class Lifetimes {
  /** By kind, oldest first. */
  private readonly orders: Order[][];

  /** `minLifetimesNs`: by kind, minimum lifetime of a GPU from its order on. */
  constructor(private readonly minLifetimesNs: readonly number[]) {
    this.orders = minLifetimesNs.map(() => []);
  }

  /** Returns the wanted number by kind, raised by GPUs too young to stop; newly ordered ones count from now on. */
  keep(wanted: readonly number[], counts: readonly GpuCount[], nowNs: number): number[] {
    return wanted.map((gpus, kind) => {
      const present = counts[kind].on + counts[kind].starting;
      if (gpus > present) {
        this.orders[kind].push({ atNs: nowNs, gpus: gpus - present });
        return gpus;
      }
      return Math.max(gpus, Math.min(present, this.young(kind, nowNs)));
    });
  }

  private young(kind: number, nowNs: number): number {
    const orders = this.orders[kind];
    const old = orders.findIndex(({ atNs }) => nowNs - atNs < this.minLifetimesNs[kind]);
    orders.splice(0, old < 0 ? orders.length : old);
    return orders.reduce((sum, { gpus }) => sum + gpus, 0);
  }
}
