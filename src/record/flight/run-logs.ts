import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { LogReader } from '../../base/files/log-reader.js';
import { NS_PER_S } from '../../base/units.js';
import type { GpuState } from '../../core/fleet-observer.js';
import { OUTCOME_ERROR, OUTCOME_OK, type Outcome } from '../../core/request.js';
import { type LoggedCluster, RESULT_OF_OUTCOME, TYPE_OF_KIND } from '../logs.js';
import type { RunEvent, RunResult, RunSetup } from '../results.js';
import type { GpuTrouble, LoggedAction, LoggedChange, LoggedRequest, RunRows } from './flight.js';

/** Columns of actions.tsv by the names of rows; times other than of sending and result count from the sending. */
const ACTION_COLUMNS = {
  ...{ handledNs: 't', id: 'action_id', kind: 'action_type', status: 'status', worker: 'worker_id' },
  ...{ gpu: 'gpu_id', model: 'model_id', batchSize: 'batch_size', sentNs: 'action_sent' },
  ...{ expectedDurationNs: 'expected_exec_duration', expectedEndNs: 'expected_exec_complete' },
  ...{ beginNs: 'worker_exec_begin', endNs: 'worker_exec_complete' },
  ...{ earliestNs: 'window_earliest', latestNs: 'window_latest' },
} as const;

const REQUEST_COLUMNS = {
  ...{ answeredNs: 't', id: 'request_id', outcome: 'result', user: 'user_id', model: 'model_id' },
  ...{ latency: 'latency', sloNs: 'deadline', isMet: 'deadline_met', action: 'action_id', cause: 'cause' },
} as const;

/** Columns that only some runs have. */
const SENDER_COLUMNS = {
  ...{
    requestClass: 'class_id',
    tenant: 'tenant_id',
    length: 'length',
    step: 'step_id',
    parent: 'parent_id',
  },
} as const;

/** By `result`, without those in time. */
const OUTCOMES = new Map(
  Object.entries(RESULT_OF_OUTCOME).map(([outcome, result]) => [result, Number(outcome) as Outcome]),
);
const KINDS = new Map(Object.entries(TYPE_OF_KIND).map(([kind, type]) => [type, Number(kind)]));

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
  rows.requests(({ arrivalNs, parent }) => void (arrivalNs >= fromNs && !(parent >= 0) && arrived++));
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

/** Visits the rows of a log, until `visit` returns false. Throws `E_RESULTS`. */
function readRows<Name extends string, Other extends string>(
  path: string,
  columns: Readonly<Record<Name, string>>,
  optional: Readonly<Record<Other, string>>,
  visit: (row: Record<Name | Other, number>) => unknown,
): void {
  const names = [...Object.keys(columns), ...Object.keys(optional)];
  const log = new LogReader(path, Object.values(columns), Object.values(optional));
  try {
    while (log.next()) {
      const row: Record<string, number> = {};
      for (let i = 0; i < names.length; i++) row[names[i]!] = log.values[i]!;
      if (visit(row as Record<Name | Other, number>) === false) return;
    }
  } finally {
    log.close();
  }
}

function readRequests(path: string, visit: (request: LoggedRequest) => unknown): void {
  readRows(path, REQUEST_COLUMNS, SENDER_COLUMNS, ({ latency, isMet, outcome: result, ...row }) => {
    const outcome = result === 0 && isMet === 1 ? OUTCOME_OK : (OUTCOMES.get(result) ?? OUTCOME_ERROR);
    return visit({ ...row, outcome, arrivalNs: row.answeredNs - latency });
  });
}

function readActions(path: string, cluster: LoggedCluster, visit: (action: LoggedAction) => void): void {
  readRows(path, ACTION_COLUMNS, { paddedLength: 'padded_length' }, ({ worker, ...row }) => {
    const { sentNs, latestNs } = row;
    visit({
      ...row,
      kind: KINDS.get(row.kind)!,
      gpu: gpuAt(cluster, worker, row.gpu),
      earliestNs: sentNs + row.earliestNs,
      latestNs: latestNs === -1 ? Number.POSITIVE_INFINITY : sentNs + latestNs,
      expectedEndNs: sentNs + row.expectedEndNs,
      beginNs: sentNs + row.beginNs,
      endNs: sentNs + row.endNs,
    });
  });
}

function readFleet(path: string, cluster: LoggedCluster): LoggedChange[] {
  const changes: LoggedChange[] = [];
  readRows(path, { atNs: 't', worker: 'worker_id', gpu: 'gpu_id', state: 'state' }, {}, (row) => {
    const state = row.state as GpuState;
    changes.push({ atNs: row.atNs, gpu: gpuAt(cluster, row.worker, row.gpu), state });
  });
  return changes;
}

function gpuAt({ gpus, workers }: LoggedCluster, worker: number, gpuOfWorker: number): number {
  return Math.ceil((worker * gpus) / workers) + gpuOfWorker;
}
