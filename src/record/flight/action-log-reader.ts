import { LogReader } from '../../base/files/log-reader.js';

const COLUMNS = [
  't',
  'action_id',
  'action_type',
  'status',
  'worker_id',
  'gpu_id',
  'model_id',
  'batch_size',
  'expected_exec_duration',
  'expected_exec_complete',
  'worker_exec_begin',
  'worker_exec_complete',
  'action_sent',
  'window_earliest',
  'window_latest',
] as const;

/** `action_type`. */
export const LOGGED_LOAD = 1;
export const LOGGED_INFER = 2;
export const LOGGED_UNLOAD = 3;

/** A row of actions.tsv. Times in ns since the start of the run. */
export interface LoggedAction {
  readonly id: number;
  readonly type: number;
  readonly status: number;
  readonly gpu: number;
  readonly model: number;
  readonly batchSize: number;
  readonly sentNs: number;
  readonly earliestNs: number;
  /** Null: a window without end. */
  readonly latestNs: number | null;
  readonly expectedDurationNs: number;
  readonly expectedEndNs: number;
  /** Of an action that failed, when its result came: the log has no more. */
  readonly beginNs: number;
  readonly endNs: number;
  /** When the result reached the controller. */
  readonly handledNs: number;
}

/** Visits the rows of actions.tsv in order of their results, until one came after `untilNs`. Throws `E_RESULTS`. */
export function readActions(
  path: string,
  { gpus, workers }: { readonly gpus: number; readonly workers: number },
  visit: (action: LoggedAction) => void,
  untilNs = Number.POSITIVE_INFINITY,
): void {
  const log = new LogReader(path, COLUMNS);
  try {
    while (log.next()) {
      const [t, id, type, status, worker, gpuOfWorker, model, batchSize, expectedDurationNs] = log.values;
      const [expectedEnd, begin, end, sentNs, earliest, latest] = log.values.subarray(9);
      if (t > untilNs) return;
      const ran = status === 0;
      visit({
        id,
        type,
        status,
        gpu: Math.ceil((worker * gpus) / workers) + gpuOfWorker,
        model,
        batchSize,
        sentNs,
        earliestNs: sentNs + earliest,
        latestNs: latest === -1 ? null : sentNs + latest,
        expectedDurationNs,
        expectedEndNs: sentNs + expectedEnd,
        beginNs: ran ? sentNs + begin : t,
        endNs: ran ? sentNs + end : t,
        handledNs: t,
      });
    }
  } finally {
    log.close();
  }
}
