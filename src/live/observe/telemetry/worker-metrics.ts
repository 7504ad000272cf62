import { Counter, Histogram, type Registry } from 'prom-client';
import { NS_PER_S } from '../../../base/units.js';
import {
  ACTION_NAMES,
  INFER,
  LANE_EXEC,
  LANE_NAMES,
  LANE_WEIGHTS,
  LOAD,
  STATUS_OK,
} from '../../../core/action.js';
import type { ModelSpec } from '../../../core/model.js';
import { statusName } from '../../../core/status-names.js';
import type { ActionMessage, ResultMessage, WorkerDescription } from '../../messages.js';
import { LATENCY_BUCKETS_S } from './buckets.js';
import { ModelLabels } from './labels.js';

/** Prometheus metrics of a worker process, from its messages. */
export class WorkerMetrics {
  private readonly labels: ModelLabels;
  private readonly batchSizes: (readonly number[])[];
  /** Actions without a result, since a result does not include its action's properties. */
  private readonly outstanding = new Map<number, Pick<ActionMessage, 'kind' | 'model' | 'batchIndex'>>();
  private readonly actions: Counter;
  private readonly laneBusy: Counter;
  private readonly exec: Histogram;

  constructor(registry: Registry, { models }: WorkerDescription) {
    const registers = [registry];
    this.labels = new ModelLabels(models.map(({ spec }) => spec.name));
    this.batchSizes = models.map(({ spec }) => spec.batchSizes);
    this.actions = new Counter({
      name: 'escapement_worker_actions_total',
      help: 'Results of actions by kind and status, as the worker reports them',
      labelNames: ['action', 'status'],
      registers,
    });
    this.laneBusy = new Counter({
      name: 'escapement_worker_lane_busy_seconds_total',
      help: "Time that a lane of one of this worker's GPUs was busy; its rate is the utilization",
      labelNames: ['gpu', 'lane'],
      registers,
    });
    this.exec = new Histogram({
      name: 'escapement_worker_exec_seconds',
      help: 'Measured duration of INFERs that went well',
      labelNames: ['model', 'batch'],
      buckets: LATENCY_BUCKETS_S,
      registers,
    });
  }

  /** Records the model added at an index. */
  modelCame(index: number, { name, batchSizes }: ModelSpec): void {
    this.labels.set(index, name);
    this.batchSizes[index] = batchSizes;
  }

  /** Records actions from the controller. */
  submitted(actions: readonly ActionMessage[]): void {
    for (const { id, kind, model, batchIndex } of actions)
      this.outstanding.set(id, { kind, model, batchIndex });
  }

  /** Records results for the controller. Those of unknown actions are not counted. */
  finished(results: readonly ResultMessage[]): void {
    for (const result of results) this.count(result);
  }

  /** Call when nothing that was submitted will be answered any more. */
  forget(): void {
    this.outstanding.clear();
  }

  private count({ id, gpu, status, beginNs, endNs }: ResultMessage): void {
    const action = this.outstanding.get(id);
    if (action === undefined) return;
    this.outstanding.delete(id);
    const { kind, model, batchIndex } = action;
    this.actions.inc({ action: ACTION_NAMES[kind], status: statusName(status) });
    const tookS = (endNs - beginNs) / NS_PER_S;
    if ((kind !== LOAD && kind !== INFER) || tookS <= 0) return;
    this.laneBusy.inc(
      { gpu: String(gpu), lane: LANE_NAMES[kind === INFER ? LANE_EXEC : LANE_WEIGHTS] },
      tookS,
    );
    if (kind !== INFER || status !== STATUS_OK) return;
    const label = this.labels.values[this.labels.indexOf(model)];
    this.exec.observe({ model: label, batch: String(this.batchSizes[model][batchIndex]) }, tookS);
  }
}
