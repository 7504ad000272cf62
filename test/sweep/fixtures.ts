import type { CellResult } from '../../src/metrics/results.js';

/** A small, complete result; `goodputRps` and `digest` tell one from another. */
export function cellResult(goodputRps: number, digest = '00000000000000aa'): CellResult {
  return {
    version: 1,
    summary: {
      name: 'fixture',
      seed: 1,
      digest,
      policy: 'clockwork',
      durationSeconds: 10,
      requests: { offered: 1000, ok: goodputRps * 10, late: 3, timeout: 2, rejected: 1, error: 0 },
      offeredRps: 100,
      goodputRps,
      sloAttainment: goodputRps / 100,
      latencyMs: { mean: 4.5, p50: 4, p90: 6, p99: 9, p999: 9.5, p9999: null, max: 10 },
      actions: { load: 15, unload: 0, infer: 700, tooLate: 4, inferByBatch: { 1: 600, 2: 100 } },
      coldStarts: 12,
      gpu: { execUtilization: 0.5, weightsUtilization: 0.1 },
    },
    sloMs: 100,
    groups: [],
    series: {
      beginSeconds: 0,
      binSeconds: 1,
      offeredRps: [100],
      goodputRps: [goodputRps],
      failedRps: [0],
      coldStartRps: [1],
    },
    latencyCdf: { percentile: [0, 100], ms: [1, 10] },
    timeline: [],
  };
}
