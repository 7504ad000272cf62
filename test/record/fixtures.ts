import { Action, INFER, STATUS_OK } from '../../src/core/action.js';
import type { ModelSpec } from '../../src/core/model.js';
import type { RunObserver } from '../../src/core/observer.js';
import { RequestTable } from '../../src/core/request.js';
import { CAUSES, type FailureCounts } from '../../src/record/causes.js';
import type { ScheduledSummary } from '../../src/record/results.js';

export const MS = 1_000_000;
export const S = 1_000 * MS;

export const RESNET50: ModelSpec = {
  name: 'resnet50',
  weightsBytes: 102_160_000,
  pages: 7,
  loadNs: 8_310_000,
  batchSizes: [1, 2, 4, 8],
  execNs: [4_000_000, 5_000_000, 7_000_000, 12_000_000],
  inputBytes: 602_112,
  outputBytes: 4_000,
};

export interface RequestFields {
  readonly arrivalNs: number;
  readonly model?: number;
  readonly sloNs?: number;
  readonly user?: number;
  readonly arrivalCopies?: number;
}

/** A table that holds one request, in slot 0. */
export function tableWith(fields: RequestFields): RequestTable {
  const table = new RequestTable();
  table.allocate(fields.model ?? 0, fields.arrivalNs, fields.sloNs ?? 100 * MS, fields.user ?? 0);
  table.arrivalCopies[0] = fields.arrivalCopies ?? 1;
  return table;
}

/** An INFER of the first model that ran from 10 ms to 15 ms, unless given otherwise. */
export function action(fields: Partial<Action> = {}): Action {
  return Object.assign(new Action(8), {
    kind: INFER,
    batchSize: 1,
    status: STATUS_OK,
    sentNs: 8 * MS,
    earliestNs: 8 * MS,
    latestNs: 18 * MS,
    expectedDurationNs: 5 * MS,
    expectedEndNs: 15 * MS,
    beginNs: 10 * MS,
    endNs: 15 * MS,
    ...fields,
  });
}

/** The result of `done` reaches `observer` the moment that it ends. */
export function complete(observer: RunObserver, done: Action): void {
  observer.completed(done, done.endNs, 0, 0);
}

/** Failures by cause, 0 where nothing is given. */
export function failuresOf(counts: Partial<FailureCounts> = {}): FailureCounts {
  return { ...(Object.fromEntries(CAUSES.map((cause) => [cause, 0])) as FailureCounts), ...counts };
}

export const SUMMARY: ScheduledSummary = {
  name: 'example',
  kind: 'simulated',
  seed: 1,
  digest: '0123456789abcdef',
  policy: 'clockwork',
  durationSeconds: 20,
  requests: { offered: 1000, ok: 950, late: 20, timeout: 25, rejected: 5, error: 0 },
  offeredRps: 50,
  goodputRps: 47.5,
  attainment: 0.95,
  offeredLatencyMs: { mean: null, p50: 38, p90: 80, p95: 94, p99: null, p999: null, p9999: null, max: null },
  executedLatencyMs: { mean: 40, p50: 37, p90: 81, p95: 90, p99: 104, p999: 108, p9999: 109, max: 109.5 },
  worstModel: { name: 'resnet50', attainment: 0.5, offered: 30 },
  modelsBelow50: 0,
  modelsBelow90: 2,
  modelsAssessed: 12,
  rareModels: { models: 3, offered: 30, attainment: 0.9 },
  failures: failuresOf({ late: 20, refused: 5, timedOutCold: 10, timedOutQueued: 15 }),
  actions: { load: 15, unload: 0, infer: 600, tooLate: 1, inferByBatch: { '1': 300, '2': 299 } },
  coldStarts: 12,
  gpu: { execUtilization: 0.8, weightsUtilization: 0.1 },
  by: { model: [] },
  wall: { seconds: 0.1, processedRps: 10_000, peakRssBytes: 1_000_000 },
};
