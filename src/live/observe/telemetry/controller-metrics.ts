import type { Registry } from 'prom-client';
import { NS_PER_S } from '../../../base/units.js';
import { ACTION_NAMES, type Action, INFER, LANE_NAMES, LOAD, STATUS_OK } from '../../../core/action.js';
import type { Cluster } from '../../../core/cluster.js';
import type { ModelSpec } from '../../../core/model.js';
import type { RunObserver } from '../../../core/observer.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_LATE,
  OUTCOME_NAMES,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  type Outcome,
  type RequestTable,
} from '../../../core/request.js';
import { statusName } from '../../../core/status-names.js';
import { LIMIT_PIPELINE } from '../../../core/tenants.js';
import { laneOf } from '../../../core/worker.js';
import { newApiErrorCounters, readApiErrors } from '../../frontend/api-error.js';
import type { ResultMessage } from '../../messages.js';
import { execNsOf } from '../model-statistics.js';
import type { ScalingStatus } from '../status/cluster-status.js';
import { queuedByModel, warmModels } from '../status/describe-cluster.js';
import { ModelLabels } from './labels.js';
import { counted, type Reading, readOnScrape } from './metrics.js';

const OUTCOMES = OUTCOME_NAMES.length;
/** Upper bound of statuses, exclusive. */
const STATUSES = 100;
const DIRECTIONS = ['over', 'under'] as const;
/** Stages of a request: from its arrival to the start of its INFER, and the parts of that. */
const STAGES = ['queue', 'copy_in', 'exec', 'copy_out'] as const;
/** By limit, LIMIT_NONE first: reason for a rejection. Without a limit, the SLO cannot be met. */
const REJECTED_FOR = ['slo', 'rate', 'share'];

/** Label values: names of the server's classes and tenants, one for each configured one, and of its models. */
interface LabelValues {
  readonly classes?: readonly string[];
  readonly tenants?: readonly string[];
  readonly models?: ModelLabels;
}

/** Registers what is counted as it happens. */
function countsOf(
  registry: Registry,
  { classes = [], tenants = [], models = new ModelLabels() }: LabelValues,
) {
  const count = (...[name, labelsOf]: Tail<Parameters<typeof counted>>) => counted(registry, name, labelsOf);
  const model = (label: number) => [models.valueOf(label)];
  const modelAndOutcome = byTwo(OUTCOMES, (label, outcome) => [...model(label), OUTCOME_NAMES[outcome]]);
  const bySender = (name: 'class' | 'tenant', senders: readonly string[]) =>
    senders.length === 0
      ? null
      : count(
          `escapement_${name}_requests_total`,
          byTwo(OUTCOMES, (sender, outcome) => [senders[sender], OUTCOME_NAMES[outcome]]),
        );
  return {
    latency: count('escapement_request_latency_seconds', modelAndOutcome),
    queueTime: count('escapement_request_queue_seconds', modelAndOutcome),
    stageTime: count(
      'escapement_request_stage_seconds_total',
      byTwo(STAGES.length, (label, stage) => [...model(label), STAGES[stage]]),
    ),
    batchSize: count('escapement_batch_size', model),
    invalidInputs: count('escapement_invalid_inputs_total', model),
    requests: count('escapement_requests_total', (outcome) => [OUTCOME_NAMES[outcome]]),
    byClass: bySender('class', classes),
    byTenant: bySender('tenant', tenants),
    rejected: count(
      'escapement_rejected_total',
      byTwo(REJECTED_FOR.length, (tenant, why) => [REJECTED_FOR[why], ...tenants.slice(tenant, tenant + 1)]),
    ),
    goodput: count('escapement_goodput_total'),
    coldStarts: count('escapement_cold_starts_total'),
    actions: count(
      'escapement_actions_total',
      byTwo(STATUSES, (kind, status) => [ACTION_NAMES[kind], statusName(status)]),
    ),
    predictionError: count(
      'escapement_prediction_error_seconds',
      byTwo(2, (kind, direction) => [ACTION_NAMES[kind], DIRECTIONS[direction]]),
    ),
    laneBusy: count(
      'escapement_lane_busy_seconds_total',
      byTwo(2, (gpu, lane) => [String(gpu), LANE_NAMES[lane]]),
    ),
    lateness: count('escapement_wakeup_lateness_seconds'),
    steps: count('escapement_step_seconds'),
  };
}

type Tail<T extends readonly unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never;

/** Metrics of a controller, as an observer of both its core and its events. An answer costs about a microsecond. */
export class ControllerMetrics implements RunObserver {
  private readonly labels: ModelLabels;
  private readonly counts: ReturnType<typeof countsOf>;
  /** By index of the scheduler: name of its model, and its label from its first request on; 0: none yet. */
  private readonly nameOf: string[] = [];
  private readonly numberOf: number[] = [];
  /** By number of a step in the core's request table: its name. */
  private readonly stepNames: string[] = [];
  private readonly workers = new Map<string, boolean>();
  private isStandby = false;

  constructor(registry: Registry, models: readonly ModelSpec[], values: LabelValues = {}) {
    const { tenants = [], models: labels = new ModelLabels() } = values;
    this.labels = labels;
    this.counts = countsOf(registry, { ...values, models: labels });
    for (const [index, spec] of models.entries()) if (spec.name !== '') this.modelCame(index, { spec });
    // Each series exists from the start, so that its first rise shows.
    const rejections = tenants.length === 0 ? 1 : tenants.length * REJECTED_FOR.length;
    for (let series = 0; series < rejections; series++) this.counts.rejected(series, 0);
    readOnScrape(registry, 'escapement_worker_up', () =>
      [...this.workers].map(([worker, up]): Reading => [[worker], Number(up)]),
    );
    readOnScrape(registry, 'escapement_standby', () => [[[], Number(this.isStandby)]]);
  }

  modelCame(index: number, { spec }: { readonly spec: Pick<ModelSpec, 'name'> }): void {
    this.nameOf[index] = spec.name;
    this.numberOf[index] = 0;
  }

  stepCame(step: number, name: string): void {
    this.stepNames[step] = name;
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    _copies: number,
    action: Action | null,
  ): void {
    const { counts } = this;
    const arrivalNs = requests.arrivalNs[slot];
    const ran = action !== null && (outcome === OUTCOME_OK || outcome === OUTCOME_LATE);
    const label = this.labelOf(requests.model[slot]);
    const step = requests.step[slot];
    const queueS = Math.max(0, (ran ? action.beginNs : nowNs) - arrivalNs) / NS_PER_S;
    for (const each of step > 0 ? [label, this.labels.numberOf(this.stepNames[step])] : [label]) {
      counts.latency(each * OUTCOMES + outcome, Math.max(0, nowNs - arrivalNs) / NS_PER_S);
      counts.queueTime(each * OUTCOMES + outcome, queueS);
    }
    if (ran) counts.stageTime(label * STAGES.length, queueS);
    // Those of a step are part of a pipeline's.
    if (step > 0) return;
    if (outcome === OUTCOME_OK) counts.goodput(0);
    this.ended(requests, slot, outcome);
    if (outcome === OUTCOME_REJECTED)
      counts.rejected(requests.tenant[slot] * REJECTED_FOR.length + (requests.limit[slot] % LIMIT_PIPELINE));
    if (requests.arrivalCopies[slot] === 0) counts.coldStarts(0);
  }

  cancelled(requests: RequestTable, slot: number): void {
    if (requests.step[slot] <= 0) this.ended(requests, slot, OUTCOME_CANCELLED);
  }

  completed(action: Action): void {
    const { counts } = this;
    const { kind, status, gpu } = action;
    counts.actions(kind * STATUSES + status);
    if (kind !== LOAD && kind !== INFER) return;
    const tookNs = action.endNs - action.beginNs;
    if (tookNs > 0) counts.laneBusy(gpu * 2 + laneOf(action), tookNs / NS_PER_S);
    if (status !== STATUS_OK) return;
    const errorNs = action.expectedDurationNs - tookNs;
    counts.predictionError(kind * 2 + (errorNs >= 0 ? 0 : 1), Math.abs(errorNs) / NS_PER_S);
  }

  /** Records the result of an action: each request of an INFER went through its stages. */
  ran(action: Action, result: Pick<ResultMessage, 'copyInNs' | 'copyOutNs' | 'inputErrors'>): void {
    const { counts } = this;
    const { kind, status, model, count } = action;
    const label = this.labelOf(model);
    for (const error of result.inputErrors ?? []) if (error !== '') counts.invalidInputs(label);
    if (kind !== INFER || status !== STATUS_OK) return;
    const first = label * STAGES.length;
    counts.batchSize(label, count);
    counts.stageTime(first + 1, (result.copyInNs * count) / NS_PER_S);
    counts.stageTime(first + 2, (execNsOf(action, result) * count) / NS_PER_S);
    counts.stageTime(first + 3, (result.copyOutNs * count) / NS_PER_S);
  }

  wokeLate(ns: number): void {
    this.counts.lateness(0, Math.max(0, ns) / NS_PER_S);
  }

  stepped(_nowNs: number, tookNs: number): void {
    this.counts.steps(0, tookNs / NS_PER_S);
  }

  standsBy(isIt: boolean): void {
    this.isStandby = isIt;
  }

  worker(name: string, up: boolean): void {
    this.workers.set(name, up);
  }

  /** The worker is no longer this controller's: its series ends. */
  workerLeft(name: string): void {
    this.workers.delete(name);
  }

  /** Label of a model with a request: those without have no series. */
  private labelOf(index: number): number {
    const known = this.numberOf[index];
    if (known > 0) return known;
    this.numberOf[index] = this.labels.numberOf(this.nameOf[index]);
    return this.numberOf[index];
  }

  private ended({ requestClass, tenant }: RequestTable, slot: number, outcome: Outcome): void {
    const { counts } = this;
    counts.requests(outcome);
    counts.byClass?.(requestClass[slot] * OUTCOMES + outcome);
    counts.byTenant?.(tenant[slot] * OUTCOMES + outcome);
  }
}

/** Labels of an index that combines two. */
function byTwo(count: number, labels: (first: number, second: number) => readonly string[]) {
  return (index: number) => labels(Math.floor(index / count), index % count);
}

/** Registers queue lengths, and free pages, models and state of each GPU that a worker has. */
export function registerCluster(
  registry: Registry,
  { cluster, requests }: { readonly cluster: Cluster; readonly requests: RequestTable },
  /** Name of the GPU's worker; empty: none has it. */
  workerOf: (gpu: number) => string,
  /** Name of the GPU's kind. */
  kindOf: (gpu: number) => string,
  labels = new ModelLabels(),
): void {
  readOnScrape(registry, 'escapement_queued_requests', function* () {
    const queued = queuedByModel(cluster, requests);
    for (const [index, { name }] of cluster.models.entries()) {
      const isNamed = name !== '' && (labels.known(name) > 0 || queued[index] > 0);
      if (isNamed) yield [[labels.valueOf(labels.numberOf(name))], queued[index]];
    }
  });
  readOnScrape(registry, 'escapement_unanswered_requests', () => [[[], requests.size]]);
  const ofGpus = (
    name: `escapement_${'gpu_up' | 'gpu_info' | 'free_pages' | 'warm_models'}`,
    begin: () => (gpu: number, worker: string) => Reading,
  ) =>
    readOnScrape(registry, name, function* () {
      const read = begin();
      for (let gpu = 0; gpu < cluster.gpus; gpu++) if (workerOf(gpu) !== '') yield read(gpu, workerOf(gpu));
    });
  ofGpus('escapement_gpu_up', () => (gpu, worker) => [[String(gpu), worker], Number(cluster.up.has(gpu))]);
  ofGpus('escapement_gpu_info', () => (gpu) => [[String(gpu), kindOf(gpu)], 1]);
  ofGpus('escapement_free_pages', () => (gpu) => [[String(gpu)], cluster.pages[gpu].free]);
  ofGpus('escapement_warm_models', () => {
    const held = warmModels(cluster);
    return (gpu) => [[String(gpu)], held[gpu]];
  });
}

/**
 * States of a version of a model: as in the repository index, with two more: `outdated` for one that is ready and serves
 * other files than those on disk, which are rejected, and `unloaded` for one that is deliberately not served.
 */
const MODEL_STATES = ['ready', 'outdated', 'loading', 'unloading', 'unloaded', 'unavailable'] as const;
export type ModelState = (typeof MODEL_STATES)[number];

/** Registers the number of versions of each model by state. */
export function registerModelStates(
  registry: Registry,
  labels: ModelLabels,
  read: () => readonly { readonly name: string; readonly state: ModelState }[],
): void {
  readOnScrape(registry, 'escapement_model_versions', function* () {
    for (const { name, state } of read()) {
      const model = labels.valueOf(labels.numberOf(name));
      // Zeros, too, so that an alert sees the end of a state.
      for (const each of MODEL_STATES) yield [[model, each], Number(each === state)];
    }
  });
}

/** Registers the requests refused by the frontends. Returns their counters. */
export function registerApiErrors(registry: Registry, labels: ModelLabels): SharedArrayBuffer {
  const counters = newApiErrorCounters(labels.most);
  readOnScrape(registry, 'escapement_refused_total', () =>
    readApiErrors(counters).map(
      ({ transport, reason, label, count }): Reading => [
        [transport, reason, ...(label === 0 ? [] : [labels.valueOf(label)])],
        count,
      ],
    ),
  );
  return counters;
}

/** Registers workers that register themselves, leave or are turned away. */
export function registerJoining(
  registry: Registry,
  counts: {
    readonly joined: number;
    readonly left: number;
    readonly lost: number;
    readonly turnedAway: Readonly<Record<string, number>>;
  },
): void {
  for (const what of ['joined', 'left', 'lost'] as const)
    readOnScrape(registry, `escapement_workers_${what}_total`, () => [[[], counts[what]]]);
  readOnScrape(registry, 'escapement_registrations_turned_away_total', () =>
    Object.entries(counts.turnedAway).map(([reason, count]): Reading => [[reason], count]),
  );
}

/** Registers the number of GPUs needed, for an external autoscaler. */
export function registerNeededGpus(registry: Registry, needed: () => ScalingStatus | null): void {
  readOnScrape(registry, 'escapement_gpus_needed', () =>
    (needed()?.gpus ?? []).map(({ kind, needed: gpus }): Reading => [[kind], gpus]),
  );
  readOnScrape(registry, 'escapement_gpus_needed_reason', () => {
    const reason = needed()?.reason;
    return reason === undefined ? [] : [[[reason], 1]];
  });
}
