import { z } from 'zod';
import type { ClusterStatus } from '../live/status/cluster-status.js';

const figure = z.number();
const maybe = z.number().nullable();
const counts = z.array(figure);

/** Checks that an answer is a status of the version that this program knows. */
export const statusSchema: z.ZodType<ClusterStatus> = z.object({
  version: z.literal(1),
  policy: z.string(),
  host: z.string(),
  upSeconds: figure,
  ready: z.boolean(),
  windowSeconds: figure,
  requests: z.object({
    arrivedPerS: figure,
    goodputPerS: figure,
    failedPerS: figure,
    unanswered: figure,
    totals: z.record(z.string(), figure),
    lastMinute: z.object({ arrived: counts, good: counts, failed: counts }),
  }),
  gpus: z.array(
    z.object({
      up: z.boolean(),
      worker: z.string(),
      lanes: z.array(z.object({ lane: z.string(), busy: figure, bookedMs: figure, running: z.string() })),
      pages: figure,
      freePages: figure,
      warmModels: figure,
    }),
  ),
  models: z.array(
    z.object({
      name: z.string(),
      copies: figure,
      queued: figure,
      arrivedPerS: figure,
      goodputPerS: figure,
      failedPerS: figure,
      queueMs: maybe,
      copyInMs: maybe,
      execMs: maybe,
      copyOutMs: maybe,
    }),
  ),
  otherModels: figure,
});
