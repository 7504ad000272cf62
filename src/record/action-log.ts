import { ABORT, type Action, type ActionKind, INFER, LOAD, STATUS_OK, UNLOAD } from '../core/action.js';
import type { FleetObserver, GpuState } from '../core/fleet-observer.js';
import type { ModelSpec } from '../core/model.js';
import type { RunObserver } from '../core/observer.js';
import { column, type LogColumn, LogFile, type LoggedCluster, placesOf } from './log-columns.js';

/**
 * Columns of the action log: the subset of Clockwork's controller telemetry that a simulated worker has, in its order,
 * then the window. Times other than `t` and `action_sent` count from the moment the action was sent.
 */
export const ACTION_COLUMNS: readonly LogColumn[] = [
  column('t', 'when its result reached the controller, since the start of the run', 'ns'),
  column('action_id', 'sequence number of the action in the run'),
  column('action_type', '1 LOAD, 2 INFER, 3 UNLOAD, 4 ABORT'),
  column(
    'status',
    '0 ok, 51 LOAD too late, 53 insufficient cache, 54 weights changed during LOAD, ' +
      '81 INFER too late, 82 weights missing, 84 weights changed during INFER, ' +
      '97 aborted, 98 device error, 99 worker lost',
  ),
  column('worker_id', 'worker machine, from 0'),
  column('gpu_id', 'GPU within its worker, from 0'),
  column('model_id', 'index of the model among the models of the run'),
  column(
    'batch_size',
    'size of the batch that an INFER ran, which its requests may not fill; 1 of LOAD and UNLOAD, 0 of ABORT',
  ),
  column('expected_exec_duration', 'estimated duration when it was sent', 'ns'),
  column('worker_exec_duration', 'measured duration; 0 unless status is 0', 'ns'),
  column('expected_exec_complete', 'expected end, since sent', 'ns'),
  column('worker_exec_complete', 'measured end, since sent; 0 unless status is 0', 'ns'),
  column(
    'worker_gpu_clock',
    'GPU clock relative to nominal of an INFER, 1 live, where it is not measured; 0 unless status is 0',
    'ratio',
  ),
  column('controller_action_duration', 'from sending the action to handling its result', 'ns'),
  column('requests_queued', 'requests that waited for the model when the result was handled'),
  column('copies_loaded', 'GPUs that held the model when the result was handled'),
  column('action_sent', 'when it was sent, since the start of the run', 'ns'),
  column('window_earliest', 'start of its window, since sent; below 0 if before', 'ns'),
  column('window_latest', 'end of its window, since sent; -1 if unlimited', 'ns'),
  column('worker_exec_begin', 'measured begin, since sent; 0 unless status is 0', 'ns'),
];

/** Extra last column if models take inputs of different lengths. */
export const PADDED_COLUMN = column(
  'padded_length',
  'what the inputs of an INFER were padded to, 0 otherwise; only in runs of models that take several lengths',
);

/** `action_type` by kind: the numbers of Clockwork's load, infer and evict actions; it knows no ABORT. */
export const TYPE_OF_KIND: Readonly<Record<ActionKind, number>> = {
  [LOAD]: 1,
  [INFER]: 2,
  [UNLOAD]: 3,
  [ABORT]: 4,
};

/** Writes a row for each action, in order of the results, warm-up included. Throws `E_FILE_WRITE`. */
export class ActionLog extends LogFile implements RunObserver {
  /** By model; null if none takes several lengths. */
  private readonly lengths: readonly (readonly number[] | undefined)[] | null;
  private readonly places: readonly string[];

  constructor(path: string, cluster: LoggedCluster, models: readonly ModelSpec[]) {
    const hasLengths = models.some(({ lengths }) => lengths !== undefined);
    super(path, [...ACTION_COLUMNS, ...(hasLengths ? [PADDED_COLUMN] : [])]);
    this.lengths = hasLengths ? models.map(({ lengths }) => lengths) : null;
    this.places = placesOf(cluster);
  }

  answered(): void {}

  completed(action: Action, nowNs: number, queued: number, copies: number): void {
    const { gpu, sentNs } = action;
    const ran = action.status === STATUS_OK;
    const latest = action.latestNs === Number.POSITIVE_INFINITY ? -1 : action.latestNs - sentNs;
    this.write(
      `${nowNs}\t${action.id}\t${TYPE_OF_KIND[action.kind]}\t${action.status}\t` +
        `${this.places[gpu]}\t${action.model}\t${action.batchSize}\t` +
        `${action.expectedDurationNs}\t${ran ? action.endNs - action.beginNs : 0}\t` +
        `${Math.max(0, action.expectedEndNs - sentNs)}\t${ran ? action.endNs - sentNs : 0}\t` +
        `${ran && action.kind === INFER ? action.clock : 0}\t${nowNs - sentNs}\t${queued}\t${copies}\t` +
        `${sentNs}\t${action.earliestNs - sentNs}\t${latest}\t${ran ? action.beginNs - sentNs : 0}${this.paddedText(action)}\n`,
    );
  }

  private paddedText({ kind, model, bucket }: Action): string {
    if (this.lengths === null) return '';
    return `\t${kind === INFER ? (this.lengths[model]?.[bucket] ?? 0) : 0}`;
  }
}

/** Columns of gpus.tsv: one row per change of a GPU's state, in order of time. */
export const FLEET_COLUMNS: readonly LogColumn[] = [
  column('t', 'when, since the start of the run', 'ns'),
  column('worker_id', 'worker machine, from 0'),
  column('gpu_id', 'GPU within its worker, from 0'),
  column(
    'state',
    '0 off, 1 ordered and starting: it is paid for from here on, 2 on, 3 draining; off before the first row',
  ),
];

/** Logs the states of GPUs. Throws `E_FILE_WRITE`. */
export class FleetLog extends LogFile implements FleetObserver {
  private readonly places: readonly string[];

  constructor(path: string, cluster: LoggedCluster) {
    super(path, FLEET_COLUMNS);
    this.places = placesOf(cluster);
  }

  gpuChanged(gpu: number, state: GpuState, nowNs: number): void {
    this.write(`${nowNs}\t${this.places[gpu]}\t${state}\n`);
  }
}
