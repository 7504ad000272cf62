import type { Action } from '../core/action.js';
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
import { column, type LogColumn, LogFile } from './log-columns.js';

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
