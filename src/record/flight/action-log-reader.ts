import { LogReader } from '../../base/files/log-reader.js';
import type { LoggedAction } from './run-rows.js';

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

/** Visits the rows of actions.tsv in order of their results. Throws `E_RESULTS`. */
export function readActions(
  path: string,
  { gpus, workers }: { readonly gpus: number; readonly workers: number },
  visit: (action: LoggedAction) => void,
): void {
  const log = new LogReader(path, COLUMNS);
  try {
    while (log.next()) {
      const [t, id, type, status, worker, gpuOfWorker, model, batchSize, expectedDurationNs] = log.values;
      const [expectedEnd, begin, end, sentNs, earliest, latest] = log.values.subarray(9);
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
