import { OutputFile } from '../base/files/output-file.js';
import { ABORT, type Action, type ActionKind, INFER, LOAD, STATUS_OK, UNLOAD } from '../core/action.js';
import type { FleetObserver, GpuState } from '../core/fleet-observer.js';
import type { ModelSpec } from '../core/model.js';
import type { RunObserver } from '../core/observer.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
  type RequestTable,
} from '../core/request.js';
import { CAUSES, type CauseFinder } from './causes.js';

/** A column of a log. All values are numbers. */
export interface LogColumn {
  readonly name: string;
  /** Absent: a whole number that has no unit. Only a ratio has a fraction. */
  readonly unit?: 'ns' | 'ratio';
  readonly describe: string;
}

function column(name: string, describe: string, unit?: LogColumn['unit']): LogColumn {
  return { name, describe, ...(unit === undefined ? {} : { unit }) };
}

/** Table of numbers that grows during a run: tab-separated text under a header. Every member throws `E_FILE_WRITE`. */
export class LogFile extends OutputFile {
  constructor(
    path: string,
    readonly columns: readonly LogColumn[],
  ) {
    super(path);
    this.write(`${columns.map(({ name }) => name).join('\t')}\n`);
  }
}

/** Cluster whose GPUs are assigned to worker machines in contiguous blocks. */
export interface LoggedCluster {
  readonly gpus: number;
  readonly workers: number;
}

/** Columns `worker_id` and `gpu_id` of each GPU. */
function placesOf({ gpus, workers }: LoggedCluster): string[] {
  const workerOf = Array.from({ length: gpus }, (_, gpu) => Math.floor((gpu * workers) / gpus));
  return workerOf.map((worker, gpu) => `${worker}\t${gpu - workerOf.indexOf(worker)}`);
}

/**
 * Columns of the request log: those of Clockwork's controller telemetry, in its order, so that its analysis scripts
 * read our logs, then the INFER and the cause. One differs: Clockwork's `is_coldstart` also requires that the model was
 * loaded by the time of the answer; ours is the summary's `coldStarts`.
 */
export const REQUEST_COLUMNS: readonly LogColumn[] = [
  column('t', 'when it was answered, since the start of the run', 'ns'),
  column('request_id', 'sequence number of the request in the run, from 0'),
  column('result', '0 executed, 1 error, 4 timeout, 7 rejected, 8 cancelled'),
  column('user_id', 'function, client or row group that sent it'),
  column('model_id', 'index of the model among the models of the run; pipelines come after them'),
  column(
    'slo_factor',
    'SLO divided by the execution time of the model at batch size 1; -1 for a pipeline',
    'ratio',
  ),
  column('latency', 'from arrival to answer', 'ns'),
  column('deadline', 'SLO: from arrival to deadline', 'ns'),
  column('deadline_met', '1 if executed and answered by the deadline, else 0'),
  column('arrival_count', 'GPUs that held the model when the request arrived; -1 in the log of a load'),
  column('departure_count', 'GPUs that held the model when it was answered; -1 in the log of a load'),
  column(
    'is_coldstart',
    '1 if no GPU held the model when the request arrived, else 0; -1 in the log of a load',
  ),
  column('action_id', 'action of the last INFER that it was in; -1 if there was none'),
  {
    name: 'cause',
    describe: `why it was not answered in time: ${CAUSES.map((cause, i) => `${i} ${cause}`).join(', ')}; -1 if it was, and in the log of a load`,
  },
];

/** Extra column if the experiment declares classes. */
export const CLASS_COLUMN = column('class_id', 'index of its class in the experiment; only with classes');

/** Extra column if the experiment declares tenants. */
export const TENANT_COLUMN = column('tenant_id', 'index of its tenant in the experiment; only with tenants');

/** Extra columns if the experiment has pipelines. */
export const PIPELINE_COLUMNS = [
  column(
    'step_id',
    'index of its step among the steps of all pipelines; for a failed request of a pipeline, the step at which it failed; -1: none; only with pipelines',
  ),
  column(
    'parent_id',
    "request_id of the pipeline's request that it is a step of; -1: none; only with pipelines",
  ),
];

/** Extra last column if models take inputs of different lengths. */
export const LENGTH_COLUMN = column(
  'length',
  'length of its input, 0 if unknown; only in runs of models that take several lengths',
);

/**
 * `result` by outcome: Clockwork's numbers for success, error, timeout and "skipped by the controller"; 8 is ours. A
 * late answer is a success that missed its deadline.
 */
export const RESULT_OF_OUTCOME: Readonly<Record<Outcome, number>> = {
  [OUTCOME_OK]: 0,
  [OUTCOME_LATE]: 0,
  [OUTCOME_TIMEOUT]: 4,
  [OUTCOME_REJECTED]: 7,
  [OUTCOME_ERROR]: 1,
  [OUTCOME_CANCELLED]: 8,
};

/** Writes a row for each answered request, in order of the answers, warm-up included. Throws `E_FILE_WRITE`. */
export class RequestLog extends LogFile implements RunObserver {
  private readonly sloFactors: SloFactors;
  private readonly hasLengths: boolean;

  /** `causes`: of the run's recorder; null if a client writes the log. */
  constructor(
    path: string,
    models: readonly ModelSpec[],
    private readonly causes: CauseFinder | null,
    private readonly hasClasses = false,
    private readonly hasTenants = false,
    private readonly hasPipelines = false,
  ) {
    const hasLengths = models.some(({ lengths }) => lengths !== undefined);
    super(path, [
      ...REQUEST_COLUMNS,
      ...(hasClasses ? [CLASS_COLUMN] : []),
      ...(hasTenants ? [TENANT_COLUMN] : []),
      ...(hasPipelines ? PIPELINE_COLUMNS : []),
      ...(hasLengths ? [LENGTH_COLUMN] : []),
    ]);
    this.hasLengths = hasLengths;
    this.sloFactors = new SloFactors(models);
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    copies: number,
    action: Action | null,
  ): void {
    const model = requests.model[slot];
    const sloNs = requests.sloNs[slot];
    const arrivalCopies = requests.arrivalCopies[slot];
    const latencyNs = nowNs - requests.arrivalNs[slot];
    const met = outcome === OUTCOME_OK ? 1 : 0;
    const cold = arrivalCopies < 0 ? -1 : arrivalCopies === 0 ? 1 : 0;
    const length = this.hasLengths ? `\t${requests.length[slot]}` : '';
    const cause =
      outcome === OUTCOME_CANCELLED ? -1 : this.causes?.indexOf(requests, slot, outcome, nowNs, copies);
    this.write(
      `${nowNs}\t${requests.id[slot]}\t${RESULT_OF_OUTCOME[outcome]}\t${requests.user[slot]}\t${model}\t` +
        `${this.sloFactors.text(model, sloNs)}\t${latencyNs}\t${sloNs}\t${met}\t${arrivalCopies}\t${copies}\t${cold}\t${action?.id ?? requests.failedInfer[slot]}\t${cause ?? -1}${this.sender(requests, slot)}${length}\n`,
    );
  }

  cancelled(requests: RequestTable, slot: number, nowNs: number, copies: number): void {
    this.answered(requests, slot, OUTCOME_CANCELLED, nowNs, copies, null);
  }

  private sender({ requestClass, tenant, step, parent }: RequestTable, slot: number): string {
    if (!this.hasClasses && !this.hasTenants && !this.hasPipelines) return '';
    const pipeline = this.hasPipelines
      ? `\t${Math.abs(step[slot]) - 1}\t${step[slot] > 0 ? parent[slot] : -1}`
      : '';
    return `${this.hasClasses ? `\t${requestClass[slot]}` : ''}${this.hasTenants ? `\t${tenant[slot]}` : ''}${pipeline}`;
  }

  completed(): void {}
}

/** Caches the text of the last factor, since most requests of a model carry one SLO. */
class SloFactors {
  private readonly lastSloNs: Float64Array;
  private readonly lastText: string[];

  constructor(private readonly models: readonly ModelSpec[]) {
    this.lastSloNs = new Float64Array(models.length).fill(-1);
    this.lastText = models.map(() => '');
  }

  /** `-1` for a pipeline. */
  text(model: number, sloNs: number): string {
    if (model >= this.models.length) return '-1';
    if (this.lastSloNs[model] !== sloNs) {
      this.lastSloNs[model] = sloNs;
      this.lastText[model] = String(Number((sloNs / this.models[model].execNs[0]).toFixed(4)));
    }
    return this.lastText[model];
  }
}

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
