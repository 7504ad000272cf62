import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { NS_PER_S } from '../../../base/units.js';
import { ACTION_NAMES, type Action, INFER, LANE_NAMES, LOAD, STATUS_OK } from '../../../core/action.js';
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
import { LIMIT_NONE, LIMIT_RATE, LIMIT_SHARE } from '../../../core/tenants.js';
import { laneOf } from '../../../core/worker.js';
import type { ResultMessage } from '../../messages.js';
import { execNsOf } from '../exec-time.js';
import { ERROR_BUCKETS_S, LATENCY_BUCKETS_S } from './buckets.js';
import { StageCounters } from './counters.js';
import { Children, ModelLabels } from './labels.js';

const OUTCOMES = OUTCOME_NAMES.length;
/** Upper bound of statuses, exclusive. */
const STATUSES = 100;
const DIRECTIONS = ['over', 'under'] as const;

/**
 * Prometheus metrics of a controller: of every answer and every result as an observer, of the rest by calls. An answer
 * costs about a microsecond.
 */
export class ControllerMetrics implements RunObserver {
  private readonly labels: ModelLabels;
  /** By model label and outcome. */
  private readonly latency: Children<Histogram.Internal<string>>;
  private readonly queueTime: Children<Histogram.Internal<string>>;
  private readonly stages: StageCounters;
  private readonly requests: Children<Counter.Internal>;
  private readonly goodput: Counter;
  /** By class or tenant and outcome; null: there are none. */
  private readonly byClass: Children<Counter.Internal> | null;
  private readonly byTenant: Children<Counter.Internal> | null;
  private readonly rejected: Rejections;
  private readonly coldStarts: Counter;
  /** By kind of action and status. */
  private readonly actions: Children<Counter.Internal>;
  /** By kind of action and direction. */
  private readonly predictionError: Children<Histogram.Internal<string>>;
  /** By GPU and lane, LANE_EXEC and LANE_WEIGHTS. */
  private readonly laneBusy: Children<Counter.Internal>;
  private readonly times: ControllerTimes;
  private readonly workerUp: Gauge;
  private readonly standby: Gauge;

  constructor(
    registry: Registry,
    models: readonly ModelSpec[],
    { classes = [], tenants = [] }: Senders = {},
  ) {
    const counter = (name: string, help: string, labelNames: string[] = []) =>
      new Counter({ name, help, labelNames, registers: [registry] });
    const histogram = (name: string, help: string, labelNames: string[], buckets: number[]) =>
      new Histogram({ name, help, labelNames, buckets, registers: [registry] });
    const labels = new ModelLabels(models.map(({ name }) => name));
    this.labels = labels;
    const byModelAndOutcome = (name: string, help: string) => {
      const times = histogram(name, help, ['model', 'outcome'], LATENCY_BUCKETS_S);
      return new Children((index) =>
        times.labels(labels.values[Math.floor(index / OUTCOMES)], OUTCOME_NAMES[index % OUTCOMES]),
      );
    };
    this.latency = byModelAndOutcome(
      'escapement_request_latency_seconds',
      'Time from the arrival of a request to its answer',
    );
    this.queueTime = byModelAndOutcome(
      'escapement_request_queue_seconds',
      'Time from the arrival of a request to the start of its INFER, or to its answer if there was none',
    );
    this.stages = new StageCounters(registry, labels);
    const requests = counter('escapement_requests_total', 'Requests by outcome', ['outcome']);
    this.requests = new Children((outcome) => requests.labels(OUTCOME_NAMES[outcome]));
    this.byClass = bySenderAndOutcome(registry, 'class', classes);
    this.byTenant = bySenderAndOutcome(registry, 'tenant', tenants);
    this.rejected = new Rejections(registry, tenants);
    this.goodput = counter('escapement_goodput_total', 'Requests answered within their SLO');
    this.coldStarts = counter(
      'escapement_cold_starts_total',
      'Requests that came when no GPU held their model',
    );
    const actions = counter('escapement_actions_total', 'Results of actions by kind and status', [
      'action',
      'status',
    ]);
    this.actions = new Children((index) =>
      actions.labels(ACTION_NAMES[Math.floor(index / STATUSES)], statusName(index % STATUSES)),
    );
    const predictionError = histogram(
      'escapement_prediction_error_seconds',
      'How much longer (under) or shorter (over) an action took than predicted',
      ['action', 'direction'],
      ERROR_BUCKETS_S,
    );
    this.predictionError = new Children((index) =>
      predictionError.labels(ACTION_NAMES[Math.floor(index / 2)], DIRECTIONS[index % 2]),
    );
    const laneBusy = counter(
      'escapement_lane_busy_seconds_total',
      'Time that a lane of a GPU was busy; its rate is the utilization',
      ['gpu', 'lane'],
    );
    this.laneBusy = new Children((index) =>
      laneBusy.labels(String(Math.floor(index / 2)), LANE_NAMES[index % 2]),
    );
    this.times = new ControllerTimes(registry);
    this.workerUp = new Gauge({
      name: 'escapement_worker_up',
      help: '1 while the worker takes actions, 0 while it is away',
      labelNames: ['worker'],
      registers: [registry],
    });
    const help = '1 while another controller drives the workers, otherwise 0';
    this.standby = new Gauge({ name: 'escapement_standby', help, registers: [registry] });
  }

  /** Records the model added at an index. */
  modelCame(index: number, name: string): void {
    this.labels.set(index, name);
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    _copies: number,
    action: Action | null,
  ): void {
    const arrivalNs = requests.arrivalNs[slot];
    const ran = action !== null && (outcome === OUTCOME_OK || outcome === OUTCOME_LATE);
    const label = this.labels.indexOf(requests.model[slot]);
    const index = label * OUTCOMES + outcome;
    const queueS = Math.max(0, (ran ? action.beginNs : nowNs) - arrivalNs) / NS_PER_S;
    this.latency.get(index).observe(Math.max(0, nowNs - arrivalNs) / NS_PER_S);
    this.queueTime.get(index).observe(queueS);
    if (ran) this.stages.waited(label, queueS);
    this.requests.get(outcome).inc();
    if (outcome === OUTCOME_OK) this.goodput.inc();
    this.byClass?.get(requests.requestClass[slot] * OUTCOMES + outcome).inc();
    this.byTenant?.get(requests.tenant[slot] * OUTCOMES + outcome).inc();
    if (outcome === OUTCOME_REJECTED) this.rejected.count(requests.limit[slot], requests.tenant[slot]);
    if (requests.arrivalCopies[slot] === 0) this.coldStarts.inc();
  }

  cancelled(requests: RequestTable, slot: number): void {
    this.requests.get(OUTCOME_CANCELLED).inc();
    this.byClass?.get(requests.requestClass[slot] * OUTCOMES + OUTCOME_CANCELLED).inc();
    this.byTenant?.get(requests.tenant[slot] * OUTCOMES + OUTCOME_CANCELLED).inc();
  }

  completed(action: Action): void {
    const { kind, status, gpu } = action;
    this.actions.get(kind * STATUSES + status).inc();
    if (kind !== LOAD && kind !== INFER) return;
    const tookNs = action.endNs - action.beginNs;
    if (tookNs > 0) this.laneBusy.get(gpu * 2 + laneOf(action)).inc(tookNs / NS_PER_S);
    if (status !== STATUS_OK) return;
    const errorNs = action.expectedDurationNs - tookNs;
    this.predictionError.get(kind * 2 + (errorNs >= 0 ? 0 : 1)).observe(Math.abs(errorNs) / NS_PER_S);
  }

  /** Records the result of an action: each request of an INFER went through its stages. */
  ran(action: Action, result: Pick<ResultMessage, 'copyInNs' | 'copyOutNs' | 'inputErrors'>): void {
    const { kind, status, model, count } = action;
    const label = this.labels.indexOf(model);
    for (const error of result.inputErrors ?? []) if (error !== '') this.stages.notComputed(label);
    if (kind !== INFER || status !== STATUS_OK) return;
    this.stages.ran(label, count, execNsOf(action, result), result);
  }

  /** Records a late wake-up of the controller. */
  wokeLate(ns: number): void {
    this.times.lateness.observe(Math.max(0, ns) / NS_PER_S);
  }

  /** Records the duration of a step of the scheduler. */
  stepped(tookNs: number): void {
    this.times.steps.observe(tookNs / NS_PER_S);
  }

  setStandby(isStandby: boolean): void {
    this.standby.set(isStandby ? 1 : 0);
  }

  setWorkerUp(worker: string, up: boolean): void {
    this.workerUp.set({ worker }, up ? 1 : 0);
  }

  /** Removes the series of a worker that is no longer this controller's. */
  forgetWorker(worker: string): void {
    this.workerUp.remove({ worker });
  }
}

/** Names of the server's classes and tenants: one label value for each configured one. */
interface Senders {
  readonly classes?: readonly string[];
  readonly tenants?: readonly string[];
}

const METRIC_OF_SENDER = {
  class: 'escapement_class_requests_total',
  tenant: 'escapement_tenant_requests_total',
} as const;

function bySenderAndOutcome(
  registry: Registry,
  sender: keyof typeof METRIC_OF_SENDER,
  names: readonly string[],
): Children<Counter.Internal> | null {
  if (names.length === 0) return null;
  const counter = new Counter({
    name: METRIC_OF_SENDER[sender],
    help: `Answered requests by ${sender} and outcome; only where the server has some`,
    labelNames: [sender, 'outcome'],
    registers: [registry],
  });
  return new Children((index) =>
    counter.labels(names[Math.floor(index / OUTCOMES)], OUTCOME_NAMES[index % OUTCOMES]),
  );
}

/** Names of limits as reasons; without any, the SLO cannot be met. */
const REJECTED_FOR: Readonly<Record<number, string>> = {
  [LIMIT_NONE]: 'slo',
  [LIMIT_RATE]: 'rate',
  [LIMIT_SHARE]: 'share',
};
const REASONS = Object.keys(REJECTED_FOR).length;

/** Reasons for rejections. Each series exists from the start, so that its first rise shows. */
class Rejections {
  private readonly byTenantAndReason: readonly Counter.Internal[];

  /** `tenants`: their names; empty: only SLOs reject. */
  constructor(registry: Registry, tenants: readonly string[]) {
    const counter = new Counter({
      name: 'escapement_rejected_total',
      help: 'Requests rejected because their SLO cannot be met (slo), or for the rate or share of their tenant',
      labelNames: ['reason', 'tenant'],
      registers: [registry],
    });
    const reasons = Object.values(REJECTED_FOR);
    this.byTenantAndReason =
      tenants.length === 0
        ? [counter.labels({ reason: REJECTED_FOR[LIMIT_NONE] })]
        : tenants.flatMap((tenant) => reasons.map((reason) => counter.labels({ reason, tenant })));
    for (const series of this.byTenantAndReason) series.inc(0);
  }

  count(limit: number, tenant: number): void {
    this.byTenantAndReason[tenant * REASONS + limit].inc();
  }
}

/** Times of the controller itself. */
class ControllerTimes {
  readonly lateness: Histogram;
  readonly steps: Histogram;

  constructor(registry: Registry) {
    const common = { buckets: ERROR_BUCKETS_S, registers: [registry] };
    this.lateness = new Histogram({
      name: 'escapement_wakeup_lateness_seconds',
      help: 'Delay of the wake-up timer of the controller',
      ...common,
    });
    this.steps = new Histogram({
      name: 'escapement_step_seconds',
      help: 'Duration of a scheduler step: processing events, and deciding',
      ...common,
    });
  }
}
