import type {
  ClusterStatus,
  GpuStatus,
  ModelStatus,
} from '../../../src/live/observe/status/cluster-status.js';

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

export function modelStatus(number: number, over: Partial<ModelStatus> = {}): ModelStatus {
  return {
    name: `model${number}`,
    copies: 1 + (number % 3),
    queued: number === 1 ? 7 : 0,
    offeredRps: 100 / (number + 1),
    goodputRps: 99 / (number + 1),
    failedRps: number === 0 ? 1 : 0,
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
  const minute = Array.from({ length: 60 }, (_, second) => 100 + 90 * Math.sin(second / 6));
  return {
    version: 3,
    policy: 'clockwork',
    host: 'gpu-17',
    upSeconds: 3723.4,
    ready: true,
    windowSeconds: 5.4,
    requests: {
      offeredRps: 187.4,
      goodputRps: 180.2,
      failedRps: 7.21,
      unanswered: 12,
      totals: { ok: 1_234_567, late: 12, timeout: 345, rejected: 6, error: 0 },
      lastMinute: {
        offeredRps: minute,
        goodputRps: minute.map((count) => count * 0.95),
        failedRps: minute.map(() => 1),
      },
    },
    gpus: Array.from({ length: gpus }, (_, number) => gpu(number)),
    models: Array.from({ length: models }, (_, number) => modelStatus(number)),
    otherModels: 0,
    ...over,
  };
}
