import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { ACTION_NAMES, type Action, INFER, LANE_NAMES, LOAD, STATUS_OK } from '../../core/action.js';
import type { ModelSpec } from '../../core/model.js';
import type { RunObserver } from '../../core/observer.js';
import {
  OUTCOME_LATE,
  OUTCOME_NAMES,
  OUTCOME_OK,
  type Outcome,
  type RequestTable,
} from '../../core/request.js';
import { NS_PER_S } from '../../core/units.js';
import { laneOf } from '../../core/worker.js';
import { statusName } from '../status-names.js';
import { ERROR_BUCKETS_S, LATENCY_BUCKETS_S } from './buckets.js';
import { Children } from './children.js';
import { ModelLabels } from './model-labels.js';

const OUTCOMES = OUTCOME_NAMES.length;
/** Statuses are below this. */
const STATUSES = 100;
const DIRECTIONS = ['over', 'under'] as const;

/**
 * Prometheus metrics of a controller: of every answer and every result as an observer, of the rest by calls.
 * An answer costs about a microsecond.
 */
export class ControllerMetrics implements RunObserver {
  private readonly labels: ModelLabels;
  /** By label of the model and outcome. */
  private readonly latency: Children<Histogram.Internal<string>>;
  private readonly queueTime: Children<Histogram.Internal<string>>;
  private readonly requests: Children<Counter.Internal>;
  private readonly goodput: Counter;
  private readonly coldStarts: Counter;
  /** By kind of action and status. */
  private readonly actions: Children<Counter.Internal>;
  /** By kind of action and direction. */
  private readonly predictionError: Children<Histogram.Internal<string>>;
  /** By GPU and lane, LANE_EXEC and LANE_WEIGHTS. */
  private readonly laneBusy: Children<Counter.Internal>;
  private readonly lateness: Histogram;
  private readonly workerUp: Gauge;

  constructor(registry: Registry, models: readonly ModelSpec[]) {
    const registers = [registry];
    const labels = new ModelLabels(models.map(({ name }) => name));
    this.labels = labels;
    const byModelAndOutcome = (histogram: Histogram) =>
      new Children((index) =>
        histogram.labels(labels.values[Math.floor(index / OUTCOMES)], OUTCOME_NAMES[index % OUTCOMES]),
      );
    this.latency = byModelAndOutcome(
      new Histogram({
        name: 'escapement_request_latency_seconds',
        help: 'Time from the arrival of a request to its answer',
        labelNames: ['model', 'outcome'],
        buckets: LATENCY_BUCKETS_S,
        registers,
      }),
    );
    this.queueTime = byModelAndOutcome(
      new Histogram({
        name: 'escapement_request_queue_seconds',
        help: 'Time from the arrival of a request to the begin of its INFER, or to its answer if there was none',
        labelNames: ['model', 'outcome'],
        buckets: LATENCY_BUCKETS_S,
        registers,
      }),
    );
    const requests = new Counter({
      name: 'escapement_requests_total',
      help: 'Answered requests by outcome',
      labelNames: ['outcome'],
      registers,
    });
    this.requests = new Children((outcome) => requests.labels(OUTCOME_NAMES[outcome]));
    this.goodput = new Counter({
      name: 'escapement_goodput_total',
      help: 'Requests answered within their objective',
      registers,
    });
    this.coldStarts = new Counter({
      name: 'escapement_cold_starts_total',
      help: 'Requests that came when no GPU held their model',
      registers,
    });
    const actions = new Counter({
      name: 'escapement_actions_total',
      help: 'Results of actions by kind and status',
      labelNames: ['action', 'status'],
      registers,
    });
    this.actions = new Children((index) =>
      actions.labels(ACTION_NAMES[Math.floor(index / STATUSES)], statusName(index % STATUSES)),
    );
    const predictionError = new Histogram({
      name: 'escapement_prediction_error_seconds',
      help: 'How much longer (under) or shorter (over) an action took than predicted',
      labelNames: ['action', 'direction'],
      buckets: ERROR_BUCKETS_S,
      registers,
    });
    this.predictionError = new Children((index) =>
      predictionError.labels(ACTION_NAMES[Math.floor(index / 2)], DIRECTIONS[index % 2]),
    );
    const laneBusy = new Counter({
      name: 'escapement_lane_busy_seconds_total',
      help: 'Time that a lane of a GPU was busy; its rate is the utilization',
      labelNames: ['gpu', 'lane'],
      registers,
    });
    this.laneBusy = new Children((index) =>
      laneBusy.labels(String(Math.floor(index / 2)), LANE_NAMES[index % 2]),
    );
    this.lateness = new Histogram({
      name: 'escapement_wakeup_lateness_seconds',
      help: 'How much later than it wanted the controller was woken',
      buckets: ERROR_BUCKETS_S,
      registers,
    });
    this.workerUp = new Gauge({
      name: 'escapement_worker_up',
      help: '1 while the worker takes actions, 0 while it is away',
      labelNames: ['worker'],
      registers,
    });
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
    const index = this.labels.indexOf(requests.model[slot]) * OUTCOMES + outcome;
    this.latency.get(index).observe(Math.max(0, nowNs - arrivalNs) / NS_PER_S);
    this.queueTime.get(index).observe(Math.max(0, (ran ? action.beginNs : nowNs) - arrivalNs) / NS_PER_S);
    this.requests.get(outcome).inc();
    if (outcome === OUTCOME_OK) this.goodput.inc();
    if (requests.arrivalCopies[slot] === 0) this.coldStarts.inc();
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

  /** The controller wanted to be woken so much earlier. */
  wokeLate(ns: number): void {
    this.lateness.observe(Math.max(0, ns) / NS_PER_S);
  }

  setWorkerUp(worker: string, up: boolean): void {
    this.workerUp.set({ worker }, up ? 1 : 0);
  }
}
