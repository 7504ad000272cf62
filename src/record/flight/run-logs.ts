import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { LogReader } from '../../base/files/log-reader.js';
import { NS_PER_S } from '../../base/units.js';
import type { GpuState } from '../../core/fleet-observer.js';
import { OUTCOME_ERROR, OUTCOME_OK, type Outcome } from '../../core/request.js';
import { CAUSES } from '../causes.js';
import type { LoggedCluster } from '../log-columns.js';
import { RESULT_OF_OUTCOME } from '../request-log.js';
import type { RunEvent, RunResult, RunSetup } from '../results.js';
import type { GpuTrouble } from './flight.js';
import type { LoggedAction, LoggedChange, LoggedRequest, RunRows } from './run-rows.js';

const ACTION_COLUMNS = [
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

const REQUEST_COLUMNS = [
  't',
  'request_id',
  'result',
  'user_id',
  'model_id',
  'latency',
  'deadline',
  'deadline_met',
  'action_id',
  'cause',
] as const;

const SENDER_COLUMNS = ['class_id', 'tenant_id', 'length', 'step_id', 'parent_id'] as const;

/** By `result`, without those in time. */
const OUTCOMES = new Map(
  Object.entries(RESULT_OF_OUTCOME).map(([outcome, result]) => [result, Number(outcome) as Outcome]),
);

/**
 * Rows of the logs in the `--out` folder of a run. Throws `E_RESULTS` if a log is missing, is malformed, or lacks rows
 * that the run counted.
 */
export function runLogs(
  dir: string,
  {
    setup,
    windows,
    fleet,
    events = [],
    summary: { requests: counted, cancelled = 0, actions: counts },
  }: RunResult,
): RunRows {
  const [requests, actions] = [join(dir, 'requests.tsv'), join(dir, 'actions.tsv')];
  // A client knows nothing of the cluster.
  if (!existsSync(requests) || !existsSync(actions) || setup?.gpus === undefined || counts === undefined) {
    const what =
      'needs both requests.tsv and actions.tsv; run the experiment again with output.requestLog and output.actionLog (load writes no actions.tsv: use replay with the journal of the server)';
    throw new EscapementError('E_RESULTS', what, { file: dir });
  }
  const scheduler = setup as Required<Omit<RunSetup, 'kinds'>> & Pick<RunSetup, 'kinds'>;
  const rows: RunRows = {
    requests: (visit) => readRequests(requests, visit),
    actions: (visit) => readActions(actions, scheduler, visit),
    ...(fleet && { fleet: readFleet(join(dir, 'gpus.tsv'), scheduler) }),
    slow: events.flatMap(({ atSeconds, slow }) => (slow === undefined ? [] : troubleOf(atSeconds, slow))),
    setup: scheduler,
  };
  const fromNs = Math.round(windows[0].beginSeconds * NS_PER_S);
  let [arrived, sent] = [0, 0];
  rows.requests(({ arrivalNs, parent }) => void (arrivalNs >= fromNs && parent === undefined && arrived++));
  rows.actions(({ sentNs }) => void (sentNs >= fromNs && sent++));
  refuseOtherCount(requests, arrived, counted.offered + cancelled);
  refuseOtherCount(actions, sent, counts.load + counts.unload + counts.infer);
  return rows;
}

function troubleOf(
  atSeconds: number,
  { gpu, untilSeconds, times }: NonNullable<RunEvent['slow']>,
): GpuTrouble {
  const untilNs = untilSeconds === null ? null : untilSeconds * NS_PER_S;
  return { gpu, fromNs: atSeconds * NS_PER_S, untilNs, times };
}

/** `counted`: number that the run counted after its warm-up. */
function refuseOtherCount(file: string, rows: number, counted: number): void {
  if (rows === counted) return;
  const what = `has ${rows} rows after the warm-up, but run.json counted ${counted}: the log was cut or changed; run the experiment again`;
  throw new EscapementError('E_RESULTS', what, { file });
}

/** Visits the rows of requests.tsv in order of answers, until `visit` returns false. Throws `E_RESULTS`. */
function readRequests(path: string, visit: (request: LoggedRequest) => unknown): void {
  const log = new LogReader(path, REQUEST_COLUMNS, SENDER_COLUMNS);
  try {
    while (log.next()) {
      const [t, id, result, user, model, latency, sloNs, met, action, cause] = log.values;
      const [requestClass, tenant, length, step, parent] = log.values.subarray(REQUEST_COLUMNS.length);
      const request = {
        id,
        outcome: result === 0 && met === 1 ? OUTCOME_OK : (OUTCOMES.get(result) ?? OUTCOME_ERROR),
        user,
        model,
        arrivalNs: t - latency,
        answeredNs: t,
        sloNs,
        action,
        cause: CAUSES[cause] ?? null,
        ...(requestClass >= 0 ? { requestClass } : {}),
        ...(tenant >= 0 ? { tenant } : {}),
        ...(length > 0 ? { length } : {}),
        ...(step >= 0 ? { step } : {}),
        ...(parent >= 0 ? { parent } : {}),
      };
      if (visit(request) === false) return;
    }
  } finally {
    log.close();
  }
}

/** Visits the rows of actions.tsv in order of their results. Throws `E_RESULTS`. */
function readActions(path: string, cluster: LoggedCluster, visit: (action: LoggedAction) => void): void {
  const log = new LogReader(path, ACTION_COLUMNS, ['padded_length']);
  try {
    while (log.next()) {
      const [t, id, type, status, worker, gpuOfWorker, model, batchSize, expectedDurationNs] = log.values;
      const [expectedEnd, begin, end, sentNs, earliest, latest, paddedLength] = log.values.subarray(9);
      const ran = status === 0;
      visit({
        id,
        type,
        status,
        gpu: gpuAt(cluster, worker, gpuOfWorker),
        model,
        batchSize,
        ...(paddedLength > 0 ? { paddedLength } : {}),
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

/** Rows of gpus.tsv. Throws `E_RESULTS`. */
function readFleet(path: string, cluster: LoggedCluster): LoggedChange[] {
  const log = new LogReader(path, ['t', 'worker_id', 'gpu_id', 'state']);
  const changes: LoggedChange[] = [];
  while (log.next()) {
    const [atNs, worker, gpuOfWorker, state] = log.values;
    changes.push({ atNs, gpu: gpuAt(cluster, worker, gpuOfWorker), state: state as GpuState });
  }
  return changes;
}

function gpuAt({ gpus, workers }: LoggedCluster, worker: number, gpuOfWorker: number): number {
  return Math.ceil((worker * gpus) / workers) + gpuOfWorker;
}
