import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ABORT, LOAD, STATUS_ABORTED, STATUS_INFER_TOO_LATE, UNLOAD } from '../../src/core/action.js';
import { OUTCOME_LATE, OUTCOME_OK, OUTCOME_TIMEOUT } from '../../src/core/request.js';
import { CauseFinder } from '../../src/record/causes.js';
import { ActionLog, RequestLog } from '../../src/record/logs.js';
import { action, MS, RESNET50, tableWith } from './fixtures.js';

const folder = mkdtempSync(join(tmpdir(), 'logs-'));

it("a request log has the columns of Clockwork's telemetry, then the INFER and the cause", () => {
  const path = join(folder, 'requests.tsv');
  const log = new RequestLog(path, [RESNET50], new CauseFinder([RESNET50]));
  log.answered(
    tableWith({ arrivalNs: 5 * MS, user: 3, arrivalCopies: 0 }),
    0,
    OUTCOME_OK,
    30 * MS,
    1,
    action({ id: 7 }),
  );
  log.answered(
    tableWith({ arrivalNs: 5 * MS, sloNs: 10 * MS }),
    0,
    OUTCOME_LATE,
    30 * MS,
    2,
    action({ id: 8 }),
  );
  log.answered(tableWith({ arrivalNs: 5 * MS, sloNs: 3_333_333 }), 0, OUTCOME_TIMEOUT, 6 * MS, 1, null);
  log.close();
  const [header, ...rows] = readFileSync(path, 'utf8').split('\n');
  expect(header).toBe(
    't\trequest_id\tresult\tuser_id\tmodel_id\tslo_factor\tlatency\tdeadline\tdeadline_met\tarrival_count\tdeparture_count\tis_coldstart\taction_id\tcause',
  );
  expect(rows).toEqual([
    '30000000\t0\t0\t3\t0\t25\t25000000\t100000000\t1\t0\t1\t1\t7\t-1',
    '30000000\t0\t0\t0\t0\t2.5\t25000000\t10000000\t0\t1\t2\t0\t8\t0',
    '6000000\t0\t4\t0\t0\t0.8333\t1000000\t3333333\t0\t1\t1\t0\t-1\t3',
    '',
  ]);
});

it("an action log starts with the columns of Clockwork's telemetry and adds the window", () => {
  const path = join(folder, 'actions.tsv');
  const log = new ActionLog(path, { gpus: 4, workers: 2 }, []);
  log.completed(action({ id: 9, gpu: 3, model: 6, batchSize: 4, clock: 0.9 }), 16 * MS, 5, 2);
  log.completed(action({ status: STATUS_INFER_TOO_LATE, beginNs: 20 * MS, endNs: 20 * MS }), 20 * MS, 0, 1);
  log.completed(action({ kind: UNLOAD, earliestNs: 0, latestNs: Number.POSITIVE_INFINITY }), 20 * MS, 0, 0);
  log.completed(action({ kind: LOAD, clock: 0.9 }), 20 * MS, 0, 1);
  log.completed(action({ kind: ABORT, latestNs: Number.POSITIVE_INFINITY }), 20 * MS, 0, 1);
  log.completed(action({ status: STATUS_ABORTED }), 20 * MS, 0, 1);
  log.close();
  const [infer, tooLate, unload, load, abort, aborted] = rowsOf(path);
  expect(Object.keys(infer).slice(0, 12)).toEqual([
    ...['t', 'action_id', 'action_type', 'status', 'worker_id', 'gpu_id', 'model_id', 'batch_size'],
    ...['expected_exec_duration', 'worker_exec_duration', 'expected_exec_complete', 'worker_exec_complete'],
  ]);
  expect(infer).toEqual({
    t: '16000000',
    action_id: '9',
    action_type: '2',
    status: '0',
    worker_id: '1',
    gpu_id: '1',
    model_id: '6',
    batch_size: '4',
    expected_exec_duration: '5000000',
    worker_exec_duration: '5000000',
    expected_exec_complete: '7000000',
    worker_exec_complete: '7000000',
    worker_gpu_clock: '0.9',
    controller_action_duration: '8000000',
    requests_queued: '5',
    copies_loaded: '2',
    action_sent: '8000000',
    window_earliest: '0',
    window_latest: '10000000',
    worker_exec_begin: '2000000',
  });
  expect(tooLate).toMatchObject({ status: '81', worker_exec_duration: '0', worker_exec_complete: '0' });
  expect(unload).toMatchObject({ action_type: '3', window_earliest: '-8000000', window_latest: '-1' });
  expect(load).toMatchObject({ action_type: '1', worker_gpu_clock: '0' });
  expect(abort).toMatchObject({ action_type: '4', status: '0', window_latest: '-1' });
  expect(aborted).toMatchObject({ action_type: '2', status: '97', worker_exec_duration: '0' });
});

/** Rows of a TSV file as objects. */
function rowsOf(path: string): Record<string, string>[] {
  const [header, ...lines] = readFileSync(path, 'utf8').trimEnd().split('\n');
  const names = header.split('\t');
  return lines.map((line) => Object.fromEntries(line.split('\t').map((value, i) => [names[i], value])));
}
