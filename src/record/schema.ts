import * as z from 'zod';
import { RESULTS_VERSION } from './results-version.js';
import {
  amount,
  amountOrNull,
  count,
  latencyCdfSchema,
  list,
  originSchema,
  perSecond,
  schedulerFiguresSchema,
  setupSchema,
  sloMs,
  summarySchema,
  text,
} from './schema-summary.js';

const rps = () => z.number().nonnegative();

/** One action as it ran, for timelines. */
export const timelineEntrySchema = z.object({
  gpu: count('Index of the GPU in the cluster.'),
  lane: z.enum(['EXEC', 'WEIGHTS']).describe('Lane it ran on.'),
  kind: z.enum(['LOAD', 'INFER']).describe('Kind of action.'),
  model: text('Name of the model.'),
  batch: z.int().positive().describe('Batch size of an INFER; 1 for a LOAD.'),
  beginMs: z.number().describe('When it began, ms of virtual time.'),
  endMs: z.number().describe('When it ended, ms; equal to beginMs if it never ran.'),
  earliestMs: z.number().describe('Beginning of its start window, ms.'),
  latestMs: z.number().describe('End of that window, ms; endMs for a window without end.'),
  sentMs: z.number().describe('When the controller sent it, ms.'),
  status: z.int().describe('0 for success; the other numbers are those of the action log.'),
});

/** Moment of a run with the most misses. */
export const worstMomentSchema = z.object({
  fromMs: z.number().describe('When it begins, ms of virtual time.'),
  toMs: z.number().describe('When it ends, ms.'),
  missed: count('Requests that missed their SLO, or were refused, in it.'),
});

const nullable = (what: string) => amountOrNull(what);
const busy = (lanes: string) =>
  nullable(`Share of time that the ${lanes} lanes of GPUs in service were busy; null: none was in service.`);

/** One window of a run, and a line of `windows.csv`. */
export const runWindowSchema = z.object({
  beginSeconds: rps().describe('When it begins, seconds of virtual time.'),
  endSeconds: rps().describe('When it ends.'),
  offeredRps: perSecond('Requests by time of arrival, per second'),
  goodputRps: perSecond('Answers within the SLO by time of answer, per second'),
  failedRps: perSecond('All other answers by time of answer, per second'),
  p99Ms: nullable('99th percentile over all answers, ms; null: it falls on one that was not in time.'),
  executedP50Ms: nullable('Median latency of executed requests, ms; null: there were none.'),
  executedP99Ms: nullable('99th percentile of latency of executed requests, ms.'),
  execUtilization: busy('EXEC').exactOptional(),
  weightsUtilization: busy('WEIGHTS').exactOptional(),
  loads: count('LOADs by time of sending.').exactOptional(),
});

/** Something that happened to the GPUs of a run. */
export const runEventSchema = z.object({
  atSeconds: amount('When, seconds of virtual time.'),
  kind: z
    .enum(['GPU lost', 'GPU slow', 'scaled', 'clock'])
    .describe(
      'scaled: the scaler wanted another number of GPUs than before; clock: the clock of GPUs changed.',
    ),
  text: text('What happened, with the reason.'),
  slow: z
    .object({
      gpu: count('GPU, counted from 0.'),
      untilSeconds: amountOrNull('Its end; null: it lasts to the end of the run.'),
      times: amount('Factor by which INFERs take longer.'),
    })
    .exactOptional(),
});

/** A value tuned by the policy, by window up to the nominal end. */
export const tunedSeriesSchema = z.object({
  name: text('Name of the value, e.g. scheduleAhead.'),
  unit: z.enum(['ms', '']).describe('Its unit; empty for plain numbers.'),
  values: list(z.number(), 'The value at the end of each window.'),
});

const textsSchema = z.array(z.string()).exactOptional();
const overridesSchema = textsSchema.describe(
  'Overrides (--set) on top of the experiment file, in order; absent: none.',
);

/** Number of GPUs over time. Arrays in steps have one entry for each of `kinds`. */
export const fleetSchema = z.object({
  kinds: list(z.string(), 'Names of the kinds of GPUs.'),
  steps: list(
    z.object({
      atSeconds: amount('Virtual time at which these numbers began.'),
      on: list(count(), 'GPUs that took actions.'),
      starting: list(count(), 'GPUs that were ordered and not yet in service.'),
      draining: list(count(), 'GPUs that were finishing their actions.'),
    }),
    'GPUs over time, from 0 on.',
  ),
});

/** Slices for confidence intervals of a run that replays a log or that no seed changes. */
export const runSlicesSchema = z.object({
  oneSample: z.boolean().describe('True if no seed changes the run.'),
  seconds: list(z.number().positive(), 'Length of each slice, up to the nominal end.'),
  sections: list(
    z.object({
      group: text('Name of the section.'),
      class: z.string().nullable().describe('Class of its requests; null: there are none.'),
      tenant: z.string().nullable().describe('Tenant that sends them; null: there are none.'),
      weight: z.number().positive().describe('Weight of one of its requests answered in time.'),
      offered: list(count(), 'Requests by time of arrival.'),
      ok: list(count(), 'Of these, those answered within their SLO.'),
    }),
    'One entry for each workload section.',
  ),
});

/** Data for the charts and report of one run: `run.json`. */
export const runResultSchema = z.object({
  version: z.literal(RESULTS_VERSION).describe('Version of this format.'),
  experiment: text('The experiment file as written.'),
  overrides: overridesSchema,
  origin: originSchema.exactOptional(),
  summary: summarySchema,
  sloMs: sloMs('all requests'),
  windows: z
    .array(runWindowSchema)
    .nonempty()
    .describe(
      'The run from the end of the warm-up on, as in windows.csv: at most 100 equal windows of at least 1 s (a shorter run is one), and further ones for answers after the nominal end. Figures of GPUs are absent for a load.',
    ),
  events: list(runEventSchema, 'What happened to GPUs; absent: nothing.').exactOptional(),
  slices: runSlicesSchema
    .exactOptional()
    .describe(
      'Counts per time slice, for confidence intervals of a run that replays a log or that no seed changes. Absent from others.',
    ),
  plugin: z
    .object({
      file: text('Path as written.'),
      digest: text('SHA-256 of the module, 16 hex digits.'),
    })
    .exactOptional()
    .describe('The module that the policy came from; absent: it is built in.'),
  tuned: list(tunedSeriesSchema, 'Values tuned by the policy, by window; absent: none.').exactOptional(),
  fleet: fleetSchema
    .exactOptional()
    .describe('GPUs over time; absent unless a scaler decided how many, or some failed.'),
  latencyCdf: latencyCdfSchema.describe(
    'Latency by percentile of all offered requests: 0, 1, …, 99, 99.9, 99.99, 100; empty if none was answered in time.',
  ),
  timeline: list(
    timelineEntrySchema,
    "A slice of the run's actions by start time; empty unless requested, and in repetitions of a sweep's cell.",
  ),
  worst: worstMomentSchema
    .exactOptional()
    .describe(
      'Tenth of a second with the most misses, within the worst second; absent if nothing was missed, or if the timeline shows a requested slice.',
    ),
  setup: setupSchema.exactOptional(),
});

/** Upper bounds on the goodput of any scheduler, comparable to `goodputRps`. */
export const boundFiguresSchema = z.object({
  offeredRps: perSecond('Offered requests per second of nominal duration'),
  fluidRps: perSecond('Upper bound on goodput if every batch is full'),
  windowLimitedRps: perSecond(
    'Upper bound on goodput if a batch only holds requests that can be in the system at the same time',
  ),
  pricedRps: perSecond('Upper bound on goodput by a price on GPU time; null for pipelines'),
  timePricedRps: perSecond('Upper bound on goodput by a price that changes over time; null for pipelines'),
  bestRps: perSecond(
    'The smallest of the bounds: no scheduler exceeds it, even one that knows all requests in advance',
  ),
  weightedRps: perSecond(
    'Upper bound on weightedGoodputRps; absent: the experiment declares no classes',
  ).exactOptional(),
  fairRps: perSecond(
    'Upper bound if no model may fall below the requested share of the overall attainment; absent: none was requested, or there are pipelines',
  ).exactOptional(),
});

/**
 * A run's result within a sweep: without its `wall` figures, so that the same sweep produces the same bytes on any
 * machine, and without facts that the sweep states once for all cells.
 */
export const cellResultSchema = runResultSchema
  .omit({ experiment: true, overrides: true, origin: true, setup: true })
  .extend({
    summary: summarySchema.omit({ wall: true }).extend(schedulerFiguresSchema.shape),
    bound: boundFiguresSchema
      .exactOptional()
      .describe('Upper bounds on the goodput of any scheduler; absent unless the sweep asks for them.'),
  });

const cellPlace = {
  id: text('Stable name: key=value pairs and the seed.'),
  values: z
    .record(z.string(), z.string())
    .describe(
      'Value of each varied key as written. A key whose value changes nothing here, such as an option that the policy does not have, is absent: one run counts for all its values.',
    ),
  seed: z.number().describe('Seed of the run.'),
};

export const finishedCellSchema = z.object({
  ...cellPlace,
  status: z.literal('done'),
  result: cellResultSchema,
});

export const failedCellSchema = z.object({
  ...cellPlace,
  status: z.literal('failed'),
  code: text('Code of the error.'),
  message: text('One line: what was wrong and where.'),
});

export const variedKeySchema = z.object({
  key: text('Dotted key, e.g. slo.'),
  values: list(z.string(), 'Its values as written, e.g. 10ms and 25ms.'),
});

/** A whole sweep: `results.json`. */
export const sweepResultsSchema = z.object({
  version: z.literal(RESULTS_VERSION).describe('Version of this format.'),
  escapement: text(
    'Version of escapement that ran it; absent if a program assembled the results.',
  ).exactOptional(),
  name: text('Name of the sweep.'),
  experiment: text('The experiment file as written.'),
  overrides: overridesSchema,
  required: textsSchema.describe('Thresholds that a recommended choice must meet; absent: none.'),
  defaults: z
    .record(z.string(), z.string())
    .describe('Value of each varied key when nothing overrides it, as written or the default.'),
  vary: list(variedKeySchema, 'Varied keys with their values as written.'),
  seeds: list(z.number(), 'Seeds over which each cell was repeated.'),
  cells: list(
    z.discriminatedUnion('status', [finishedCellSchema, failedCellSchema]),
    'One entry for each grid point and seed, in the order of the grid.',
  ),
});
