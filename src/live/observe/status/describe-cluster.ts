import { NS_PER_MS, NS_PER_S } from '../../../base/units.js';
import { type Action, LANE_NAMES, LOAD } from '../../../core/action.js';
import type { RequestClass } from '../../../core/classes.js';
import type { Cluster } from '../../../core/cluster.js';
import { OUTCOME_NAMES, REQUEST_FREE, REQUEST_QUEUED, type RequestTable } from '../../../core/request.js';
import { partsOf, type Tenant } from '../../../core/tenants.js';
import {
  type ClusterStatus,
  type GpuStatus,
  type LaneStatus,
  type ModelStatus,
  type ScalingStatus,
  STATUS_VERSION,
} from './cluster-status.js';
import {
  type Counted,
  type Counts,
  HISTORY_SECONDS,
  type StatusCollector,
  WINDOW_SECONDS,
} from './status-collector.js';

const MOST_MODELS = 200;

/** Inputs of a status. */
interface StatusSources {
  readonly collector: StatusCollector;
  readonly core: { readonly cluster: Cluster; readonly requests: RequestTable };
  readonly policy: string;
  readonly host: string;
  readonly ready: boolean;
  /** Name of a GPU's worker. */
  readonly workerOf: (gpu: number) => string;
  /** Name of a GPU's kind. */
  readonly kindOf: (gpu: number) => string;
  /** As configured; empty: none. */
  readonly classes: readonly RequestClass[];
  readonly tenants: readonly Tenant[];
  /** Latest decision of the scaler; null: none. */
  readonly scaling: ScalingStatus | null;
  /** Since the start. */
  readonly nowNs: number;
}

/** Describes the state of a controller. Takes about a millisecond for 100 GPUs and 4,000 models. */
export function describeCluster(sources: StatusSources): ClusterStatus {
  return new Description(sources).status();
}

/** Number of models on each GPU. Takes time proportional to the copies, not to all pairs. */
export function warmModels({ models, gpus, warm }: Pick<Cluster, 'models' | 'gpus' | 'warm'>): Int32Array {
  const counts = new Int32Array(gpus);
  for (let model = 0; model < models.length; model++) {
    for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) counts[gpu]++;
  }
  return counts;
}

class Description {
  private readonly second: number;
  private readonly fromSecond: number;
  private readonly windowSeconds: number;
  /** By model: waiting requests. */
  private readonly queued: Int32Array;

  constructor(private readonly sources: StatusSources) {
    const { nowNs, core } = sources;
    this.second = Math.floor(nowNs / NS_PER_S);
    this.fromSecond = Math.max(0, this.second - WINDOW_SECONDS);
    this.windowSeconds = Math.max(nowNs / NS_PER_S - this.fromSecond, 1e-3);
    const { state, model } = core.requests;
    this.queued = new Int32Array(core.cluster.models.length);
    for (let slot = 0; slot < state.length; slot++)
      if (state[slot] === REQUEST_QUEUED) this.queued[model[slot]]++;
  }

  status(): ClusterStatus {
    const { sources, second, fromSecond } = this;
    const { collector, core, policy, host, ready, scaling, nowNs } = sources;
    const recent = this.recent(core.requests.model, core.cluster.models.length);
    const unanswered = recent.reduce((sum, count) => sum + count, 0);
    const chosen = this.mostActive(recent);
    return {
      version: STATUS_VERSION,
      policy,
      host,
      upSeconds: round(nowNs / NS_PER_S),
      ready,
      windowSeconds: round(this.windowSeconds),
      requests: {
        ...this.rates(collector.all.counts(0, fromSecond, second), unanswered),
        unanswered: core.requests.size,
        totals: Object.fromEntries(OUTCOME_NAMES.map((name, outcome) => [name, collector.totals[outcome]])),
        lastMinute: this.lastMinute(),
      },
      gpus: this.gpus(),
      ...(scaling === null ? {} : { scaling }),
      ...this.senders(),
      models: chosen.map((model) => this.model(model, recent[model])),
      otherModels: core.cluster.modelCount - chosen.length,
    };
  }

  private perS(count: number): number {
    return round(count / this.windowSeconds);
  }

  /** `unanswered`: further requests that arrived within the window. */
  private rates({ arrived, good, failed }: Counts, unanswered: number) {
    return {
      offeredRps: this.perS(arrived + unanswered),
      goodputRps: this.perS(good),
      failedRps: this.perS(failed),
    };
  }

  /** By number in a column of the request table: unanswered requests that arrived within the window. */
  private recent(column: ArrayLike<number>, length: number): Float64Array {
    const { state, arrivalNs } = this.sources.core.requests;
    const counts = new Float64Array(length);
    for (let slot = 0; slot < state.length && length > 0; slot++)
      if (state[slot] !== REQUEST_FREE && arrivalNs[slot] >= this.fromSecond * NS_PER_S)
        counts[column[slot]]++;
    return counts;
  }

  /** By arrivals and waiting requests; ties by copies. */
  private mostActive(recent: Float64Array): number[] {
    const { collector, core } = this.sources;
    const { models, modelCount, warm, gpus } = core.cluster;
    // One number encodes both the sort key and the model: numbers are sorted without callbacks, many times as fast.
    const keys = new Float64Array(modelCount);
    let at = 0;
    for (let model = 0; model < models.length; model++) {
      if (!core.cluster.hasModel(model)) continue;
      const arrived = collector.models.sum(model, 'arrived', this.fromSecond, this.second);
      const activity = arrived + recent[model] + this.queued[model];
      keys[at++] = (activity * (gpus + 1) + warm.count(model) + 1) * models.length - model;
    }
    const descending = keys.sort().reverse().subarray(0, MOST_MODELS);
    return Array.from(descending, (key) => (models.length - (key % models.length)) % models.length);
  }

  private model(model: number, unanswered: number): ModelStatus {
    const { collector, core } = this.sources;
    const counts = collector.models.counts(model, this.fromSecond, this.second);
    const meanMs = (ns: number, count: number) => (count === 0 ? null : round(ns / count / NS_PER_MS));
    return {
      name: core.cluster.models[model].name,
      copies: core.cluster.warm.count(model),
      queued: this.queued[model],
      ...this.rates(counts, unanswered),
      queueMs: meanMs(counts.queueNs, counts.started),
      copyInMs: meanMs(counts.copyInNs, counts.ran),
      execMs: meanMs(counts.execNs, counts.ran),
      copyOutMs: meanMs(counts.copyOutNs, counts.ran),
    };
  }

  private lastMinute() {
    const { collector, core } = this.sources;
    const first = Math.max(0, this.second - HISTORY_SECONDS);
    const each = (counted: Counted) =>
      Array.from({ length: this.second - first }, (_, i) =>
        collector.all.sum(0, counted, first + i, first + i),
      );
    const arrived = each('arrived');
    const { state, arrivalNs } = core.requests;
    for (let slot = 0; slot < state.length; slot++) {
      const at = Math.floor(arrivalNs[slot] / NS_PER_S) - first;
      if (state[slot] !== REQUEST_FREE && at >= 0 && at < arrived.length) arrived[at]++;
    }
    return { offeredRps: arrived, goodputRps: each('good'), failedRps: each('failed') };
  }

  /** GPUs up to the last that a worker has. */
  private gpus(): GpuStatus[] {
    const { core, workerOf, kindOf } = this.sources;
    const { cluster } = core;
    const held = warmModels(cluster);
    const lanes = cluster.oneLane ? [LANE_NAMES.join('+')] : LANE_NAMES;
    const workers = cluster.pages.map((_, gpu) => workerOf(gpu));
    const end = workers.findLastIndex((worker) => worker !== '') + 1;
    return cluster.pages.slice(0, end).map((pages, gpu) => ({
      up: cluster.up.has(gpu),
      worker: workers[gpu],
      kind: kindOf(gpu),
      lanes: lanes.map((name, lane) => this.lane(gpu, lane, name)),
      pages: pages.capacity,
      freePages: pages.free,
      warmModels: held[gpu],
    }));
  }

  private lane(gpu: number, lane: number, name: string): LaneStatus {
    const { collector, core, nowNs } = this.sources;
    const { cluster } = core;
    const timeline = (lane === 0 ? cluster.exec : cluster.weights)[gpu];
    const isBooked = !timeline.isClosed && timeline.outstanding > 0;
    const running = collector.lanes.running(gpu, lane, nowNs);
    return {
      lane: name,
      busy: round(collector.lanes.share(gpu, lane, this.fromSecond, nowNs)),
      bookedMs: isBooked ? round((timeline.availableNs(nowNs) - nowNs) / NS_PER_MS) : 0,
      running: running === null ? '' : whatRuns(running, cluster.models[running.model].name),
    };
  }

  /** Figures of each class and each tenant; absent if none are configured. */
  private senders(): Pick<ClusterStatus, 'classes' | 'tenants'> {
    const { collector, core, classes, tenants } = this.sources;
    const { requestClass, tenant } = core.requests;
    const parts = partsOf(tenants);
    const figures = (activity: StatusCollector['classes'], column: ArrayLike<number>) => {
      const recent = this.recent(column, activity.length);
      const all = Array.from(recent, (_, of) => activity.counts(of, this.fromSecond, this.second));
      const gpuNs = all.reduce((sum, counts) => sum + counts.gpuNs, 0);
      return all.map((counts, of) => ({
        usedShare: gpuNs === 0 ? null : round(counts.gpuNs / gpuNs),
        ...this.rates(counts, recent[of]),
        refusedRps: this.perS(counts.refused),
        overRateRps: this.perS(counts.overRate),
        overShareRps: this.perS(counts.overShare),
      }));
    };
    const ofClasses = figures(collector.classes, requestClass).map(
      ({ overRateRps, overShareRps, ...rest }, i) => {
        const { name, weight, share } = classes[i];
        return { name, weight, share, ...rest };
      },
    );
    const ofTenants = figures(collector.tenants, tenant).map((rest, i) => ({
      name: tenants[i].name,
      share: round(parts[i]),
      ...rest,
    }));
    return {
      ...(classes.length === 0 ? {} : { classes: ofClasses }),
      ...(tenants.length === 0 ? {} : { tenants: ofTenants }),
    };
  }
}

function whatRuns({ kind, batchSize }: Action, model: string): string {
  return kind === LOAD ? `LOAD ${model}` : `${model} ×${batchSize}`;
}

/** To a thousandth: more digits only make the answer longer. */
function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
