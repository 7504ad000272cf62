import { existsSync, readFileSync } from 'node:fs';
import * as z from 'zod';
import { EscapementError } from '../core/errors.js';

const count = z.number();
const requests = z.object({
  offered: count,
  ok: count,
  late: count,
  timeout: count,
  rejected: count,
  error: count,
});
const ms = z.number().nullable();
const latencyMs = z.object({ mean: ms, p50: ms, p90: ms, p99: ms, p999: ms, p9999: ms, max: ms });
const figures = { requests, offeredRps: count, goodputRps: count, sloAttainment: count, latencyMs };

/** The parts of run.json that are checked or needed for it. */
const runFacts = z.object({
  version: z.literal(1),
  summary: z.object({
    ...figures,
    policy: z.string(),
    durationSeconds: count.positive(),
    actions: z.object({
      load: count,
      unload: count,
      infer: count,
      tooLate: count,
      inferByBatch: z.record(z.string(), count),
    }),
    coldStarts: count,
    worstModelAttainment: count.nullable().optional(),
    modelsBelowHalf: count.optional(),
    gpu: z.object({ execUtilization: count, weightsUtilization: count }),
  }),
  groups: z.array(z.object({ name: z.string(), ...figures })),
  series: z.object({ beginSeconds: count }),
  setup: z
    .object({
      gpus: count,
      cachePages: count,
      modelPages: z.array(count),
      firstUsers: z.array(count),
      oneLane: z.boolean(),
      overheadMs: count,
      clockOffsetMs: count,
    })
    .optional(),
});

export type RunFacts = z.infer<typeof runFacts>;
export type Figures = Pick<RunFacts['summary'], keyof typeof figures>;

/** Reads run.json. Throws `E_RESULTS`. */
export function readRunFacts(path: string): RunFacts {
  const { data, error } = runFacts.safeParse(parse(path));
  if (data !== undefined) return data;
  const [issue] = error.issues;
  throw new EscapementError(
    'E_RESULTS',
    'is missing or not as this program writes it; run the experiment again',
    {
      file: path,
      key: issue.path.join('.'),
    },
  );
}

function parse(path: string): unknown {
  if (!existsSync(path)) {
    const what = 'is not there; give the --out folder of a single run, not of a sweep or plan';
    throw new EscapementError('E_RESULTS', what, { file: path });
  }
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new EscapementError('E_RESULTS', `cannot be read (${reason}); give the --out folder of a run`, {
      file: path,
    });
  }
}
