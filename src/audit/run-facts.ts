import { existsSync, readFileSync } from 'node:fs';
import * as z from 'zod';
import { EscapementError } from '../base/errors.js';
import { inputPath } from '../base/files/input-path.js';
import { FURTHER_COUNTS, OUTCOMES } from './request-audit.js';

/** Version of run.json. */
const VERSION = 5;

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
      model: z.array(part.extend({ id: count })),
    }),
    weightedOfferedRps: count.nullish(),
    weightedGoodputRps: count.nullish(),
    weightedAttainment: count.nullish(),
  }),
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
      oneLane: z.boolean().optional(),
      overheadMs: count.optional(),
      clockOffsetMs: count.optional(),
    })
    .optional(),
});

export type RunFacts = z.infer<typeof runFacts>;
export type Figures = Pick<RunFacts['summary'], keyof typeof figures>;

/** Reads run.json. Throws `E_RESULTS`. */
export function readRunFacts(path: string): RunFacts {
  const value = parse(path);
  if (typeof value !== 'object' || value === null || !('version' in value)) {
    const what = 'is not a results file; run the experiment again with --out';
    throw new EscapementError('E_RESULTS', what, { file: path });
  }
  if (value.version !== VERSION) {
    const what = `is of version ${JSON.stringify(value.version)}, but this program reads version ${VERSION}; run the experiment again`;
    throw new EscapementError('E_RESULTS', what, { file: path, key: 'version' });
  }
  const { data, error } = runFacts.safeParse(value);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  throw new EscapementError('E_RESULTS', 'is missing or invalid; run the experiment again', {
    file: path,
    key: issue.path.join('.'),
  });
}

function parse(path: string): unknown {
  if (!existsSync(path)) {
    const what = 'is missing; pass the --out folder of a single run, not of a sweep or plan';
    throw new EscapementError('E_RESULTS', what, { file: path });
  }
  let text: string;
  try {
    text = readFileSync(inputPath(path), 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new EscapementError('E_RESULTS', `cannot be read (${reason})`, { file: path });
  }
  try {
    return JSON.parse(text);
  } catch {
    const what = 'is not valid JSON (perhaps truncated); run the experiment again';
    throw new EscapementError('E_RESULTS', what, { file: path });
  }
}
