import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { INFER, LOAD, STATUS_INFER_TOO_LATE, STATUS_OK, UNLOAD } from '../../../../src/core/action.js';
import type { ActionMessage, ResultMessage, WorkerDescription } from '../../../../src/live/messages.js';
import { WorkerMetrics } from '../../../../src/live/observe/telemetry/worker-metrics.js';
import { MS, resnets } from '../../../sim/fixtures.js';
import { scrape } from './exposition.js';

const DESCRIPTION: WorkerDescription = {
  gpus: [],
  pageBytes: 1 << 24,
  models: resnets(2).map((spec) => ({
    spec,
    signature: { inputs: [], outputs: [], batched: true },
    version: '1',
    sloNs: null,
  })),
};

it('the metrics of a worker count results, busy lanes and durations by model and batch', async () => {
  const registry = new Registry();
  const metrics = new WorkerMetrics(registry, DESCRIPTION);
  const infer = { kind: INFER, model: 1, batchIndex: 2 } as const;
  metrics.submitted([
    action(1, { kind: LOAD, model: 0, batchIndex: 0 }),
    action(2, infer),
    action(3, infer),
    action(4, { kind: UNLOAD, model: 0, batchIndex: 0 }),
    action(5, infer),
  ]);
  metrics.finished([result(1, STATUS_OK, 8 * MS), result(2, STATUS_OK, 6 * MS)]);
  metrics.finished([result(3, STATUS_INFER_TOO_LATE, 0), result(4, STATUS_OK, 0)]);
  metrics.forget();
  metrics.finished([result(5, STATUS_OK, 1), result(2, STATUS_OK, 1)]);
  expect(Object.fromEntries(await scrape(registry))).toMatchObject({
    'escapement_worker_actions_total{action="LOAD",status="ok"}': 1,
    'escapement_worker_actions_total{action="INFER",status="ok"}': 1,
    'escapement_worker_actions_total{action="INFER",status="too_late"}': 1,
    'escapement_worker_actions_total{action="UNLOAD",status="ok"}': 1,
    'escapement_worker_lane_busy_seconds_total{gpu="0",lane="EXEC"}': 0.006,
    'escapement_worker_lane_busy_seconds_total{gpu="0",lane="WEIGHTS"}': 0.008,
    'escapement_worker_exec_seconds_count{model="resnet50-1",batch="4"}': 1,
    'escapement_worker_exec_seconds_sum{model="resnet50-1",batch="4"}': 0.006,
  });
});

function action(id: number, what: Pick<ActionMessage, 'kind' | 'model' | 'batchIndex'>): ActionMessage {
  return { id, gpu: 0, count: 1, earliestNs: 0, latestNs: 0, inputs: [], ...what };
}

function result(id: number, status: number, tookNs: number): ResultMessage {
  return { id, gpu: 0, status, beginNs: 0, endNs: tookNs, copyInNs: 0, copyOutNs: 0, outputs: [], error: '' };
}
