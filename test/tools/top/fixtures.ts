import type {
  ClusterStatus,
  GpuStatus,
  ModelStatus,
} from '../../../src/live/observe/status/cluster-status.js';
import type { RequestFigures } from '../../../src/record/results.js';

/** A GPU that is the busier the higher its number. */
export function gpu(number: number, over: Partial<GpuStatus> = {}): GpuStatus {
  return {
    up: true,
    worker: `10.0.0.${number}:8003`,
    kind: 'cuda',
    lanes: [
      { lane: 'EXEC', busy: (number % 10) / 10, bookedMs: number + 0.25, running: `resnet50_${number} ×4` },
      { lane: 'WEIGHTS', busy: 0.05, bookedMs: 0, running: number % 2 === 0 ? 'LOAD bert' : '' },
    ],
    pages: 512,
    freePages: 128,
    warmModels: 40 + number,
    ...over,
  };
}

/** Figures of requests of which so many per second are in time, and others too late. */
export function requestFigures(inTime: number, late = 0): RequestFigures {
  const executed = inTime + late;
  const latencyMs = (all: boolean) => ({
    ...{ mean: all ? 13.5 : null, p50: 12.5, p90: 20, p95: 25, p99: all ? 50 : null },
    ...{ p999: null, p9999: null, max: null },
  });
  return {
    requests: {
      ...{ offered: Math.round(executed * 5), ok: Math.round(inTime * 5), late: Math.round(late * 5) },
      ...{ timeout: 0, rejected: 0, error: 0 },
    },
    offeredRps: executed,
    goodputRps: inTime,
    attainment: executed === 0 ? null : inTime / executed,
    offeredLatencyMs: latencyMs(late === 0),
    executedLatencyMs: latencyMs(true),
  };
}

export function modelStatus(number: number, over: Partial<ModelStatus> = {}): ModelStatus {
  return {
    key: `model${number}`,
    gpuShare: 0.1,
    copies: 1 + (number % 3),
    queued: number === 1 ? 7 : 0,
    ...requestFigures(99 / (number + 1), number === 0 ? 1 : 0),
    queueMs: 4.2 * number,
    copyInMs: 0.12,
    execMs: 12.5,
    copyOutMs: 0.05,
    ...over,
  };
}

export function clusterStatus(
  gpus: number,
  models: number,
  over: Partial<ClusterStatus> = {},
): ClusterStatus {
  return {
    version: 5,
    policy: 'clockwork',
    host: 'gpu-17',
    upSeconds: 3723.4,
    ready: true,
    windowSeconds: 5,
    ...requestFigures(180.2, 7.2),
    unanswered: 12,
    totals: { ok: 1_234_567, late: 12, timeout: 345, rejected: 6, error: 0 },
    by: { model: Array.from({ length: models }, (_, number) => modelStatus(number)) },
    gpus: Array.from({ length: gpus }, (_, number) => gpu(number)),
    ...over,
  };
}
