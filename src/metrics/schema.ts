import { z } from 'zod';

const count = () => z.int().nonnegative();
const perSecond = () => z.number().nonnegative();
const share = () => z.number().min(0).max(1);
const latency = () => z.number().nonnegative().nullable();

const requestCountsSchema = z.object({
  offered: count().describe('Requests that arrived after the warm-up; the sum of the other five.'),
  ok: count().describe('Executed and answered by their deadline.'),
  late: count().describe('Executed, and answered after their deadline.'),
  timeout: count().describe('Given up before execution, because they could no longer be served in time.'),
  rejected: count().describe('Refused on arrival.'),
  error: count().describe('Put into an action that failed.'),
});

const latencyMsSchema = z.object({
  mean: latency().describe('Arithmetic mean.'),
  p50: latency().describe('50th percentile (nearest rank, within 0.05 %, as the other percentiles).'),
  p90: latency().describe('90th percentile.'),
  p99: latency().describe('99th percentile.'),
  p999: latency().describe('99.9th percentile.'),
  p9999: latency().describe('99.99th percentile.'),
  max: latency().describe('Largest value.'),
});
const LATENCY =
  'Time from arrival to answer of executed requests (ok and late), ms; null if there were none.';

const actionCountsSchema = z.object({
  load: count().describe('LOAD actions, whatever their result.'),
  unload: count().describe('UNLOAD actions, whatever their result.'),
  infer: count().describe('INFER actions, whatever their result.'),
  tooLate: count().describe('Actions that missed their window (status 51 or 81).'),
  inferByBatch: z
    .record(z.string(), count())
    .describe('INFER actions that succeeded, by batch size, e.g. {"1": 527, "2": 2058}.'),
});

const timelineEntrySchema = z.object({
  gpu: count().describe('Index of the GPU in the cluster.'),
  lane: z.enum(['EXEC', 'WEIGHTS']).describe('Lane it ran on.'),
  kind: z.enum(['LOAD', 'INFER']).describe('Kind of action.'),
  model: z.string().describe('Name of the model.'),
  batch: z.int().positive().describe('Batch size of an INFER; 1 for a LOAD.'),
  beginMs: z.number().describe('When it began, ms of virtual time.'),
  endMs: z.number().describe('When it ended, ms; equal to beginMs if it never ran.'),
  earliestMs: z.number().describe('Begin of the window in which it might start, ms.'),
  latestMs: z.number().describe('End of that window, ms; endMs for a window without end.'),
  sentMs: z.number().describe('When the controller sent it, ms.'),
  status: z.int().describe('0 for success; the other numbers are those of the action log.'),
});

const objective = (whose: string) =>
  z.number().positive().nullable().describe(`Latency objective of ${whose}, ms; null where requests differ.`);

const groupSummarySchema = z.object({
  name: z.string().describe('Name of the workload section, or its kind if it has none.'),
  sloMs: objective('its requests'),
  requests: requestCountsSchema,
  offeredRps: perSecond().describe('Its offered requests per second of nominal duration.'),
  goodputRps: perSecond().describe('Its answers within objective per second of nominal duration.'),
  sloAttainment: share().describe('Share of its offered requests that were answered within their objective.'),
  latencyMs: latencyMsSchema.describe(LATENCY),
});

const timeSeriesSchema = z.object({
  beginSeconds: z
    .number()
    .nonnegative()
    .describe('Virtual time at which the first bin begins, seconds: the end of the warm-up.'),
  binSeconds: z
    .number()
    .positive()
    .describe('Width of a bin, seconds of virtual time; the last may be narrower.'),
  offeredRps: z.array(perSecond()).describe('Requests by time of arrival, per second.'),
  goodputRps: z.array(perSecond()).describe('Answers within objective by time of answer, per second.'),
  failedRps: z.array(perSecond()).describe('All other answers by time of answer, per second.'),
  coldStartRps: z.array(perSecond()).describe('Cold starts by time of arrival, per second.'),
});

const tunedSeriesSchema = z.object({
  name: z.string().describe('Name of the value, e.g. scheduleAhead.'),
  unit: z.enum(['ms', '']).describe('Its unit; empty for plain numbers.'),
  values: z.array(z.number()).describe('The value at the end of each bin.'),
  low: z.array(z.number()).describe('The smallest value in each bin.'),
  high: z.array(z.number()).describe('The largest value in each bin.'),
});

const setupSchema = z.object({
  gpus: count().describe('GPUs of the cluster.'),
  cachePages: count().describe("Pages of each GPU's weights cache."),
  modelPages: z.array(count()).describe('Pages that the weights of each model take.'),
  firstUsers: z.array(count()).describe('First user id of each workload section.'),
  oneLane: z.boolean().describe('LOADs and INFERs of a GPU share one lane.'),
  overheadMs: z
    .number()
    .nonnegative()
    .describe("From the moment that a lane takes up an action to the action's begin, ms."),
  clockOffsetMs: z.number().nonnegative().describe('How far the clocks of workers may be off, ms.'),
});

const latencyCdfSchema = z.object({
  percentile: z
    .array(z.number().min(0).max(100))
    .describe('Ascending percentiles: 0, 1, …, 99, 99.9, 99.99, 100.'),
  ms: z.array(z.number().nonnegative()).describe('Latency at each percentile, ms.'),
});

/** Shape of `Summary`: what `simulate --json` prints. */
export const summarySchema = z
  .object({
    name: z.string().describe('Name of the experiment.'),
    seed: z.union([z.number(), z.string()]).describe('Seed of every random stream of the run.'),
    digest: z
      .string()
      .regex(/^[0-9a-f]{16}$/)
      .describe('Running hash of every decision: equal digests mean equal runs.'),
    policy: z.string().describe('Scheduling policy.'),
    durationSeconds: z
      .number()
      .positive()
      .describe('Nominal duration of the workload less the warm-up, seconds.'),
    requests: requestCountsSchema.describe('Requests by outcome.'),
    offeredRps: perSecond().describe('Offered requests per second of nominal duration.'),
    goodputRps: perSecond().describe('Answers within objective per second of nominal duration.'),
    sloAttainment: share().describe(
      'Share of the offered requests that were answered within their objective; 0 if none.',
    ),
    worstModelAttainment: share()
      .nullable()
      .exactOptional()
      .describe(
        'Lowest attainment of any model with at least 20 offered requests; null if there is none; absent from results of earlier versions.',
      ),
    modelsBelowHalf: count()
      .exactOptional()
      .describe(
        'Models with at least 20 offered requests whose attainment is below half of sloAttainment; absent from results of earlier versions.',
      ),
    latencyMs: latencyMsSchema.describe(LATENCY),
    actions: actionCountsSchema.describe('Actions that were sent after the warm-up.'),
    coldStarts: count().describe('Requests that arrived while no GPU held their model.'),
    gpu: z
      .object({
        execUtilization: z.number().nonnegative().describe('Share of time that the EXEC lanes were busy.'),
        weightsUtilization: z
          .number()
          .nonnegative()
          .describe('Share of time that the WEIGHTS lanes were busy.'),
      })
      .describe('Mean over GPUs, from the end of the warm-up to the nominal end.'),
    wall: z
      .object({
        seconds: z.number().nonnegative().describe('Real time that the run took.'),
        requestsPerSecond: perSecond().describe('Simulated requests per second of real time.'),
        peakRssBytes: count().describe('Largest resident memory of the process.'),
      })
      .describe('What the run cost on this machine; the only part that differs between equal runs.'),
  })
  .describe('Headline figures of one escapement run.');

const overridesSchema = z
  .array(z.string())
  .exactOptional()
  .describe('Overrides (--set) on top of the experiment file, in order; absent: none.');

/** Shape of `RunResult`: `run.json`. */
export const runResultSchema = z.object({
  version: z.literal(1).describe('Version of this format.'),
  experiment: z.string().describe('The experiment file as written.'),
  overrides: overridesSchema,
  summary: summarySchema,
  sloMs: objective('all requests'),
  groups: z
    .array(groupSummarySchema)
    .describe('One group a workload section when there are several, else empty.'),
  series: timeSeriesSchema.describe('Rates over virtual time; arrays of equal length.'),
  tuned: z
    .array(tunedSeriesSchema)
    .exactOptional()
    .describe('What the policy tuned by itself, in the bins of series; absent: nothing.'),
  latencyCdf: latencyCdfSchema.describe(
    'Latency by percentile of executed requests; empty if there were none.',
  ),
  timeline: z
    .array(timelineEntrySchema)
    .describe(
      "A slice of the run's actions by begin; empty unless asked for, and in repetitions of a sweep's cell.",
    ),
  setup: setupSchema
    .exactOptional()
    .describe('What the logs do not tell and check must know; absent from results of earlier versions.'),
});

/** Shape of `BoundFigures`. */
export const boundFiguresSchema = z.object({
  offeredRps: perSecond().describe('Offered requests per second of nominal duration.'),
  fluidRps: perSecond().describe('Upper bound on goodput if every batch is full.'),
  windowLimitedRps: perSecond().describe('The same if batches hold only requests that can meet.'),
  pricedRps: perSecond().nullable().describe('The same by a price on GPU time; null for several GPUs.'),
  timePricedRps: perSecond().nullable().describe('The same by a price that changes over time.'),
  bestRps: perSecond().describe('The smallest of the bounds.'),
});

/** Shape of `CellResult`: a run's result within a sweep. */
export const cellResultSchema = runResultSchema
  .omit({ experiment: true, overrides: true, setup: true })
  .extend({
    summary: summarySchema.omit({ wall: true }),
    bound: boundFiguresSchema
      .exactOptional()
      .describe(
        'Upper bounds on the goodput of any scheduler; absent where the sweep does not ask for them.',
      ),
  });

const cellPlace = {
  id: z.string().describe('Stable name: key=value pairs and the seed.'),
  values: z.record(z.string(), z.string()).describe('Value of each varied key as written.'),
  seed: z.number().describe('Seed of the run.'),
};

/** Shape of `SweepResults`: `results.json`. */
export const sweepResultsSchema = z.object({
  version: z.literal(1).describe('Version of this format.'),
  name: z.string().describe('Name of the sweep.'),
  experiment: z.string().describe('The experiment file as written.'),
  overrides: overridesSchema,
  defaults: z.record(z.string(), z.string()).describe('Value of each varied key when nothing overrides it.'),
  vary: z
    .array(z.object({ key: z.string(), values: z.array(z.string()) }))
    .describe('Varied keys with their values as written.'),
  seeds: z.array(z.number()).describe('Seeds over which each cell was repeated.'),
  cells: z
    .array(
      z.discriminatedUnion('status', [
        z.object({ ...cellPlace, status: z.literal('done'), result: cellResultSchema }),
        z.object({
          ...cellPlace,
          status: z.literal('failed'),
          code: z.string().describe('Code of the error.'),
          message: z.string().describe('One line: what was wrong and where.'),
        }),
      ]),
    )
    .describe('One entry a grid point and seed, in the order of the grid.'),
});

/** JSON Schema (draft 2020-12) of what `simulate --json` prints. */
export function summaryJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(summarySchema) as Record<string, unknown>;
}
