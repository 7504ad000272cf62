import type { CellResult } from '../../../src/record/results.js';
import type { CellTask } from '../../../src/run/sweep/run-cell.js';
import { failuresOf } from '../../record/fixtures.js';

/** A task whose results are called like those of `cellResult`. */
export function cellTask(key: string): CellTask {
  return {
    ...{ text: '', file: 'run.yaml', files: [], overrides: [], metrics: [] },
    ...{ key, name: 'fixture' },
  };
}

/** A small, complete result; `goodputRps` and `digest` tell one from another. */
export function cellResult(goodputRps: number, digest = '00000000000000aa'): CellResult {
  return {
    version: 7,
    summary: {
      name: 'fixture',
      kind: 'simulated',
      seed: 1,
      digest,
      policy: 'clockwork',
      durationSeconds: 10,
      requests: { offered: 1000, ok: goodputRps * 10, late: 3, timeout: 2, rejected: 1, error: 0 },
      offeredRps: 100,
      goodputRps,
      attainment: goodputRps / 100,
      worstModel: { name: 'fixture', attainment: goodputRps / 100, offered: 1000 },
      modelsBelow50: 0,
      modelsBelow90: 1,
      modelsAssessed: 1,
      rareModels: { models: 0, offered: 0, attainment: null },
      failures: failuresOf({ late: 3, refused: 1, timedOutCold: 4 }),
      offeredLatencyMs: { mean: null, p50: 4, p90: 6, p95: 7, p99: 9, p999: 9.5, p9999: null, max: null },
      executedLatencyMs: { mean: 4.5, p50: 4.1, p90: 6.1, p95: 7.1, p99: 9.1, p999: 9.6, p9999: 10, max: 10 },
      actions: { load: 15, unload: 0, infer: 700, tooLate: 4, inferByBatch: { 1: 600, 2: 100 } },
      coldStarts: 12,
      gpu: { execUtilization: 0.5, weightsUtilization: 0.1 },
      by: { model: [] },
    },
    sloMs: 100,
    windows: [
      {
        ...{ beginSeconds: 0, endSeconds: 1, offeredRps: 100, goodputRps, failedRps: 0 },
        ...{ p99Ms: 9, executedP50Ms: 4.1, executedP99Ms: 9.1 },
        ...{ execUtilization: 0.5, weightsUtilization: 0.1, loads: 15 },
      },
    ],
    latencyCdf: { percentile: [0, 100], ms: [1, 10] },
    timeline: [],
  };
}
