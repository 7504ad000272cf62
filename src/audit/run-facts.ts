import * as z from 'zod';
import { conforming, readRun } from '../base/files/results-folder.js';
import { FURTHER_COUNTS, OUTCOMES } from './request-audit.js';

/** Version of run.json. */
const VERSION = 7;

const count = z.number();
const requests = z.record(z.enum(['offered', ...OUTCOMES]), count);
const ms = z.number().nullable();
const latencyMs = z.object({ mean: ms, p50: ms, p90: ms, p95: ms, p99: ms, p999: ms, p9999: ms, max: ms });
const failures = z.record(z.string(), count).optional();
const figures = {
  requests,
  offeredRps: count.nullable(),
  goodputRps: count.nullable(),
  attainment: count.nullable(),
  accuracy: count.nullish(),
  accurateAttainment: count.nullish(),
  offeredLatencyMs: latencyMs,
  executedLatencyMs: latencyMs,
  // Missing where a client measured.
  ...(Object.fromEntries(FURTHER_COUNTS.map((name) => [name, count.optional()])) as Readonly<
    Record<(typeof FURTHER_COUNTS)[number], z.ZodOptional<typeof count>>
  >),
  failures,
};
const part = z.object({ key: z.string(), gpuShare: count.nullish(), ...figures });

/** Parts of run.json that are checked, or needed for a check. */
const runFacts = z.object({
  version: z.literal(VERSION),
  summary: z.object({
    ...figures,
    cancelled: count.optional(),
    percentiles: z.array(z.object({ percentile: count, offeredMs: ms, executedMs: ms })).optional(),
    kind: z.string().optional(),
    policy: z.string().optional(),
    durationSeconds: count.nonnegative(),
    // Missing in a client's summary.
    actions: z
      .object({
        load: count,
        unload: count,
        infer: count,
        tooLate: count,
        inferByBatch: z.record(z.string(), count),
      })
      .optional(),
    worstModel: z.object({ name: z.string(), attainment: count, offered: count }).nullable(),
    modelsBelow50: count,
    modelsBelow90: count,
    modelsAssessed: count,
    rareModels: z.object({ models: count, offered: count, attainment: count.nullable() }),
    gpu: z.object({ execUtilization: count.nullable(), weightsUtilization: count.nullable() }).optional(),
    scaling: z.object({ gpuHours: count, meanGpus: count.nullable() }).optional(),
    by: z.object({
      group: z.array(part).optional(),
      class: z.array(part.extend({ weight: count })).optional(),
      tenant: z.array(part).optional(),
      length: z.array(part).optional(),
      pipeline: z.array(part).optional(),
      step: z.array(part.extend({ failedHere: count.optional() })).optional(),
      model: z.array(part.extend({ id: count })),
    }),
    weightedOfferedRps: count.nullish(),
    weightedGoodputRps: count.nullish(),
    weightedAttainment: count.nullish(),
  }),
  /** GPUs over time, if they come and go. */
  fleet: z.object({}).optional(),
  windows: z.array(z.object({ beginSeconds: count })).nonempty(),
  setup: z
    .object({
      firstUsers: z.array(count),
      gpus: count.optional(),
      workers: count.optional(),
      cachePages: count.optional(),
      kinds: z.array(z.object({ gpus: count, cachePages: count })).optional(),
      modelPages: z.array(count).optional(),
      modelInferMs: z.array(count).optional(),
      modelLengths: z.array(z.array(count)).optional(),
      padding: z.string().optional(),
      pipelines: z
        .array(
          z.object({
            steps: z.array(
              z.object({
                model: count,
                variants: z.array(z.object({ model: count, accuracy: count })).optional(),
                after: z.array(count),
              }),
            ),
          }),
        )
        .optional(),
      oneLane: z.boolean().optional(),
      overheadMs: count.optional(),
      clockOffsetMs: count.optional(),
    })
    .optional(),
});

export type RunFacts = z.infer<typeof runFacts>;
export type Figures = Pick<RunFacts['summary'], keyof typeof figures>;

/** Reads run.json in the folder of a run. Throws `E_RESULTS`. */
export function readRunFacts(dir: string): RunFacts {
  return conforming(readRun(dir, VERSION), runFacts);
}
