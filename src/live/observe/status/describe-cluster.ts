import { NS_PER_MS, NS_PER_S } from '../../../base/units.js';
import { type Action, LANE_EXEC, LANE_NAMES, LANE_WEIGHTS, LOAD } from '../../../core/action.js';
import type { RequestClass } from '../../../core/classes.js';
import type { Cluster } from '../../../core/cluster.js';
import type { Controller } from '../../../core/controller.js';
import { OUTCOME_NAMES, REQUEST_FREE, REQUEST_QUEUED, type RequestTable } from '../../../core/request.js';
import type { Tenant } from '../../../core/tenants.js';
import { ratioOf } from '../../../record/counted.js';
import { BY_STEP, dimensionsOf, type PartOf } from '../../../record/dimensions.js';
import type { LengthAdvice } from '../seen-lengths.js';
import { json, type Reply, type Route } from '../telemetry/route.js';
import { Breakdown, MOST_PARTS, Window } from './breakdown.js';
import {
  type ClusterStatus,
  type GpuStatus,
  type LaneStatus,
  type ScalingStatus,
  STATUS_VERSION,
} from './cluster-status.js';
import { type StatusCollector, WINDOW_SECONDS } from './status-collector.js';

/** Inputs of a status. */
interface StatusSources {
  readonly collector: StatusCollector;
  readonly core: Pick<Controller, 'cluster' | 'requests' | 'nameOf'>;
  readonly policy: string;
  readonly host: string;
  readonly ready: boolean;
  readonly versionOf: (model: number) => string;
  /** Name of a GPU's worker. */
  readonly workerOf: (gpu: number) => string;
  /** Name of a GPU's kind. */
  readonly kindOf: (gpu: number) => string;
  /** True for the name of a pipeline in service. */
  readonly serves: (name: string) => boolean;
  /** As configured; empty: none. */
  readonly classes: readonly RequestClass[];
  readonly tenants: readonly Tenant[];
  /** Latest decision of the scaler; null: none. */
  readonly scaling: ScalingStatus | null;
  /** Lengths of a model's inputs; null: too few are known. */
  readonly lengthsOf: (model: number) => LengthAdvice | null;
  /** Since the start. */
  readonly nowNs: number;
}

/**
 * Route of the status. All who ask within a second get the same one, since each takes a few milliseconds of the
 * scheduler's thread.
 */
export function statusRoute(read: () => StatusSources): Route {
  let atNs = Number.NEGATIVE_INFINITY;
  let latest: Reply;
  const answer = () => {
    const sources = read();
    if (sources.nowNs - atNs < NS_PER_S) return latest;
    latest = json(200, describeCluster(sources));
    atNs = sources.nowNs;
    return latest;
  };
  return { path: '/status', answer };
}

/** Describes the state of a controller. Takes a few milliseconds, mostly for the kept answers. */
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

/** Number of waiting requests of each model. */
export function queuedByModel(
  { models }: Pick<Cluster, 'models'>,
  { state, model }: RequestTable,
): Int32Array {
  const queued = new Int32Array(models.length);
  for (let slot = 0; slot < state.length; slot++) if (state[slot] === REQUEST_QUEUED) queued[model[slot]]++;
  return queued;
}

class Description {
  private readonly fromSecond: number;
  private readonly window: Window;
  /** By model: waiting requests. */
  private readonly queued: Int32Array;

  constructor(private readonly sources: StatusSources) {
    const { nowNs, core, collector } = sources;
    this.fromSecond = Math.max(0, Math.floor(nowNs / NS_PER_S) - WINDOW_SECONDS);
    this.window = new Window(collector, core.requests, nowNs);
    this.queued = queuedByModel(core.cluster, core.requests);
  }

  status(): ClusterStatus {
    const { collector, core, policy, host, ready, scaling, nowNs } = this.sources;
    const gpus = this.gpus();
    const blocked = this.blocked();
    return {
      version: STATUS_VERSION,
      policy,
      host,
      upSeconds: round(nowNs / NS_PER_S),
      ready,
      ...(blocked.length > 0 && { blocked }),
      windowSeconds: round(this.window.seconds),
      ...new Breakdown(this.window, 1, () => 0, false).figures(0),
      unanswered: core.requests.state.reduce(
        (sum, _, slot) => sum + Number(isOfClient(core.requests, slot)),
        0,
      ),
      totals: Object.fromEntries(OUTCOME_NAMES.map((name, outcome) => [name, collector.totals[outcome]])),
      by: this.by(gpus),
      gpus,
      ...(scaling === null ? {} : { scaling }),
    };
  }

  /** Models that no GPU in service runs. */
  private blocked(): string[] {
    const { cluster } = this.sources.core;
    if (cluster.up.count === 0) return [];
    return cluster.models
      .flatMap((_, model) => (cluster.hasModel(model) && cluster.isStranded(model) ? this.nameOf(model) : []))
      .slice(0, MOST_PARTS);
  }

  /** Requests by each dimension that the server has. */
  private by(gpus: readonly GpuStatus[]): ClusterStatus['by'] {
    const { core, classes, tenants } = this.sources;
    const kinds = [...new Set(gpus.map(({ kind }) => kind))];
    const kindOf = gpus.map(({ kind }) => kinds.indexOf(kind));
    const of = dimensionsOf({ classes, tenants, models: core.cluster.models, kinds, kindOf });
    const divided = (dimension: keyof typeof of, order?: Order) =>
      new Breakdown(
        this.window,
        of[dimension].parts.length,
        of[dimension].partOf,
        BY_STEP.includes(dimension),
        order,
      );
    const active: Order = (arrived) =>
      tenants.length > MOST_PARTS ? descending(arrived) : [...arrived.keys()];
    return {
      ...(classes.length > 0 && { class: divided('class').list(([i]) => of.class.parts[i]) }),
      ...(tenants.length > 0 && {
        tenant: divided('tenant', active).list((parts) => {
          const own = parts.map((part) => of.tenant.parts[part]);
          return { key: own[0].key, share: own.reduce((sum, { share }) => sum + share, 0) };
        }),
      }),
      ...(of.length.parts.length > 0 && { length: divided('length').list(([i]) => of.length.parts[i]) }),
      ...this.pipelines(),
      ...(kinds.length > 1 && {
        kind: divided('kind').list(([i], { infers }) => this.kind(kinds[i], infers, gpus)),
      }),
      model: this.models(divided('model', (arrived) => this.mostActive(arrived))),
    };
  }

  /** Requests of pipelines and of their steps, whose numbers a pipeline that is replaced may leave to others. */
  private pipelines(): Partial<Pick<ClusterStatus['by'], 'pipeline' | 'step'>> {
    const { window } = this;
    const { core, collector, serves } = this.sources;
    const steps = collector.steps.map((step) => (serves(core.nameOf(step.pipeline)) ? step : null));
    const numbers = [...new Set(steps.flatMap((step) => step?.pipeline ?? []))];
    if (numbers.length === 0) return {};
    const names = [...new Set(steps.flatMap((step) => step?.name ?? []))];
    const pipelineOf = steps.map((step) => (step === null ? -1 : numbers.indexOf(step.pipeline)));
    const partOf = steps.map((step) => (step === null ? -1 : names.indexOf(step.name)));
    const byPipeline: PartOf = ({ step = [], model }, slot) =>
      pipelineOf[step[slot]] ?? numbers.indexOf(model[slot]);
    const byStep: PartOf = ({ step = [] }, slot) => partOf[step[slot]] ?? -1;
    return {
      pipeline: new Breakdown(window, numbers.length, byPipeline, false).list(([i]) => ({
        key: core.nameOf(numbers[i]),
      })),
      step: new Breakdown(window, names.length, byStep, true).list(([i]) => ({ key: names[i] })),
    };
  }

  private kind(key: string, infers: number, all: readonly GpuStatus[]) {
    const gpus = all.filter(({ kind, up }) => up && kind === key);
    const busy = (lane: number) => gpus.reduce((sum, { lanes }) => sum + (lanes[lane]?.busy ?? 0), 0);
    return {
      ...{ key, gpus: gpus.length, infer: Math.round(infers) },
      execUtilization: ratioOf(busy(LANE_EXEC), gpus.length),
      weightsUtilization: ratioOf(busy(LANE_WEIGHTS), gpus.length),
    };
  }

  private models(byModel: Breakdown): ClusterStatus['by']['model'] {
    const { warm } = this.sources.core.cluster;
    return byModel.list((parts, { executed, ...sums }) => {
      const meanMs = (ns: number) => (executed === 0 ? null : round(ns / executed / NS_PER_MS));
      const lengths = parts.length === 1 ? this.sources.lengthsOf(parts[0]) : null;
      return {
        key: this.nameOf(parts[0]),
        ...(lengths === null ? {} : { lengths: { ...lengths, buckets: [...lengths.buckets] } }),
        copies: parts.reduce((sum, model) => sum + warm.count(model), 0),
        queued: parts.reduce((sum, model) => sum + this.queued[model], 0),
        queueMs: meanMs(sums.queueNs),
        copyInMs: meanMs(sums.copyInNs),
        execMs: meanMs(sums.execNs),
        copyOutMs: meanMs(sums.copyOutNs),
      };
    });
  }

  /** Name of a model, with its version where several have one name. */
  private nameOf(model: number): string {
    const { versionOf, core } = this.sources;
    const { name } = core.cluster.models[model];
    const isOnly = core.cluster.models.every((other, at) => at === model || other?.name !== name);
    return isOnly ? name : `${name} (${versionOf(model)})`;
  }

  /** All models by arrivals and waiting requests; ties by copies. */
  private mostActive(arrived: Float64Array): number[] {
    const { cluster } = this.sources.core;
    const { warm, gpus } = cluster;
    return descending(
      arrived.map((count, model) => (count + this.queued[model]) * (gpus + 1) + warm.count(model)),
    ).filter((model) => cluster.hasModel(model));
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
}

/** True if a slot has a request, and not that of a pipeline step. */
function isOfClient({ state, step }: RequestTable, slot: number): boolean {
  return state[slot] !== REQUEST_FREE && step[slot] <= 0;
}

function whatRuns({ kind, batchSize }: Action, model: string): string {
  return kind === LOAD ? `LOAD ${model}` : `${model} ×${batchSize}`;
}

/** Rounds to a thousandth, to keep the answer short. */
function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** Parts to list, in order, by the number of requests that arrived. */
type Order = (arrived: Float64Array) => readonly number[];

/** Parts by their value, a whole number, the largest first; equal ones in their order. */
function descending(values: Float64Array): number[] {
  // One number encodes both the value and the part: numbers are sorted without callbacks, many times as fast.
  const parts = values.length;
  const keys = values.map((value, part) => (value + 1) * parts - part);
  return Array.from(keys.sort().reverse(), (key) => (parts - (key % parts)) % parts);
}
