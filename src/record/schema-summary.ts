import * as z from 'zod';
import {
  amount,
  amountOrNull,
  count,
  FIGURES,
  type FigureFacts,
  list,
  share,
  shareOrNull,
  text,
} from './schema-figure.js';
import { latencies, latencyCdfSchema, percentileMsSchema, thresholdResultSchema } from './schema-latency.js';
import { failureCountsSchema, modelFairnessShape } from './schema-models.js';
import { answerCountSchema, generatorSchema, optional } from './schema-origin.js';

const utilization = (lanes: string) =>
  amountOrNull(`Share of time that the ${lanes} lanes were busy.`).register(FIGURES, {
    ...{ unit: 'share', label: `${lanes} busy`, ofScheduler: true },
  });
/** A rate over the counted time; null for a run without a span. */
export const perSecond = (what: string) => amountOrNull(`${what}.`);
const rate = (what: string, facts: Omit<FigureFacts, 'unit'>) =>
  perSecond(what).register(FIGURES, { unit: 'perSecond', ...facts });
const outcome = (what: string, facts: Omit<FigureFacts, 'unit'>) =>
  count(what).register(FIGURES, { unit: 'count', ...facts });

export const requestCountsSchema = z.object({
  offered: outcome('Arrived after the warm-up; the sum of the other five.', {
    label: 'requests',
  }),
  ok: outcome('Executed and answered by their deadline.', { label: 'ok', better: 'higher' }),
  late: outcome('Executed, and answered after their deadline.', { label: 'late', better: 'lower' }),
  timeout: outcome('Given up in the queue, at a time that the policy sets, perhaps before the deadline.', {
    label: 'timeout',
    better: 'lower',
  }),
  rejected: outcome('Refused on arrival.', { label: 'rejected', better: 'lower' }),
  error: outcome('In an action that failed.', { label: 'error', better: 'lower' }),
});

/** Counts of requests besides those by outcome and by cause. */
const furtherCounts = {
  coldStarts: count('Requests that arrived while no GPU held their model.')
    .register(FIGURES, { unit: 'count', label: 'cold starts', better: 'lower', ofScheduler: true })
    .exactOptional(),
  coldInTime: count('Cold starts that were answered by their deadline.')
    .register(FIGURES, { unit: 'count', label: 'cold in time', ofScheduler: true })
    .exactOptional(),
};
export const FURTHER_COUNTS = Object.keys(furtherCounts) as (keyof typeof furtherCounts)[];

/** Counts, rates and latencies of all requests of a run, or of a part of them. */
const requestFigures = {
  requests: requestCountsSchema.describe('Requests by outcome.'),
  offeredRps: rate('Offered requests per second of nominal duration', { label: 'offered' }),
  goodputRps: rate('Requests answered within their SLO per second of nominal duration', {
    ...{ label: 'goodput', better: 'higher' },
  }),
  attainment: shareOrNull(
    'Share of offered requests that were answered within their SLO; null: nothing was offered.',
  ).register(FIGURES, { unit: 'share', label: 'attainment', better: 'higher' }),
  accuracy: shareOrNull('Mean accuracy of answers within their SLO from steps with variants; see Pipelines.')
    .register(FIGURES, { unit: 'share', label: 'accuracy', better: 'higher', ofScheduler: true })
    .exactOptional(),
  accurateAttainment: shareOrNull(
    'Attainment times accuracy: the share of offered requests answered correctly within their SLO.',
  )
    .register(FIGURES, { unit: 'share', label: 'attainment × accuracy', better: 'higher', ofScheduler: true })
    .exactOptional(),
  ...latencies,
  ...furtherCounts,
  failures: failureCountsSchema.exactOptional().describe('Failed requests by cause.'),
};
export const requestFiguresSchema = z.object(requestFigures);

export const partSchema = z.object({
  key: text('Name of the part.'),
  ...requestFigures,
  gpuShare: shareOrNull(
    'Its share of INFER time, each batch split evenly between its requests; null if no INFER ran.',
  )
    .register(FIGURES, { unit: 'share', label: 'GPU time', ofScheduler: true })
    .exactOptional(),
});

export const modelFiguresSchema = partSchema.extend({
  id: count('Its index among the models of the run, as in the logs.'),
});

/** Requests of a run by each dimension that it has. */
export const runPartsSchema = z.object({
  group: list(
    partSchema.extend({
      sloMs: sloMs('its requests'),
      latencyCdf: latencyCdfSchema
        .default({ percentile: [], ms: [] })
        .describe('Latency by percentile of all its offered requests, in steps of 5 up to 95.'),
    }),
    'By section of the workload; absent if there is one.',
  ).exactOptional(),
  class: list(
    partSchema.extend({
      weight: z.number().positive().describe('Weight of one of its requests answered in time.'),
      share: share('Share of GPU time that it is guaranteed while its requests wait; 0: none.'),
    }),
    'By class, in declared order.',
  ).exactOptional(),
  tenant: list(
    partSchema.extend({ share: share('Its effective share under overload, of 1.') }),
    'By tenant, in declared order.',
  ).exactOptional(),
  length: list(partSchema, 'By the smallest bucket that fits the input, shortest first.').exactOptional(),
  pipeline: list(partSchema, 'By pipeline, from arrival to the end of the last step.').exactOptional(),
  step: list(
    partSchema.extend({
      failedHere: count(
        'Requests of the pipeline that failed at this step; those refused on arrival count at the first.',
      )
        .register(FIGURES, { unit: 'count', label: 'failed here', better: 'lower', ofScheduler: true })
        .exactOptional(),
    }),
    'By pipeline step, from the end of the steps before it to its own, against its own deadline.',
  ).exactOptional(),
  kind: list(
    partSchema.extend({
      gpus: count('GPUs of the kind; with a scaler the most that were paid for at a time.'),
      gpuHours: amount('Hours that they were paid for; only with a scaler.').exactOptional(),
      pricePerHour: amount('Price of one GPU per hour.').exactOptional(),
      infer: count('Successful INFER actions.'),
      execUtilization: utilization('EXEC'),
      weightsUtilization: utilization('WEIGHTS'),
    }),
    'Executed requests by kind of GPU; only if cluster.gpus lists kinds.',
  ).exactOptional(),
  model: list(
    modelFiguresSchema,
    'Every model that had requests, the worst first, with latencies within 0.8 %; in the cells of a sweep the worst 20 and those that thresholds name.',
  ),
});

export const actionCountsSchema = z.object({
  load: count('LOAD actions, including failed ones.'),
  unload: count('UNLOAD actions, including failed ones.'),
  infer: count('INFER actions, including failed ones.'),
  tooLate: count('Actions that missed their window (status 51 or 81).'),
  inferByBatch: z
    .record(z.string(), count())
    .describe('Successful INFER actions by batch size, e.g. {"1": 527, "2": 2058}.'),
});

const COST = { unit: 'price', better: 'lower', ofScheduler: true } as const;
export const costFiguresSchema = z.object({
  perHour: amount('Price of all GPUs per hour; with a scaler the mean.').register(FIGURES, {
    name: 'costPerHour',
    label: 'cost per hour',
    ...COST,
  }),
  perMillionInTime: amountOrNull(
    'Price of a million requests answered within their SLO; null: there were none.',
  ).register(FIGURES, { name: 'costPerMillion', label: 'cost per million in time', ...COST }),
});

/** Figures of a scaler, from the end of the warm-up to the nominal end. */
export const scalingFiguresSchema = z.object({
  scaler: text('Scaler that decided the number of GPUs.'),
  gpuHours: amount('Hours that GPUs were paid for, from order to end.').register(FIGURES, {
    unit: 'hours',
    label: 'GPU-hours',
    better: 'lower',
    ofScheduler: true,
  }),
  meanGpus: amountOrNull('Mean number of GPUs paid for.'),
  mostGpus: count('Most GPUs paid for at a time.'),
  ordered: count('GPUs ordered.'),
  stopped: count('GPUs stopped, canceled orders included.'),
});

/** Present if the experiment declares classes. */
export const weightedShape = {
  weightedOfferedRps: perSecond('Offered requests per second, weighted by class'),
  weightedGoodputRps: rate('Requests answered within their SLO per second, weighted by class', {
    label: 'goodput by weight',
    better: 'higher',
  }),
  weightedAttainment: shareOrNull('weightedGoodputRps as a share of weightedOfferedRps.').register(FIGURES, {
    unit: 'share',
    label: 'attainment by weight',
    better: 'higher',
  }),
};

/** Setting of an experiment that a policy does not support, or that no policy can help. */
export const policyNoteSchema = z.object({
  kind: z.enum(['warning', 'note']).describe('warning: a requested setting is ignored.'),
  policy: text('The policy; absent if it holds for every policy.').exactOptional(),
  text: text('What it does instead.'),
});

/** Figures that only the scheduler knows; unknown to a client. */
export const schedulerFiguresSchema = z.object({
  digest: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .describe('Running hash of every decision: equal digests mean equal runs.'),
  policy: text('Scheduling policy.'),
  actions: actionCountsSchema.describe('Actions sent after the warm-up.'),
  gpu: z
    .object({
      execUtilization: utilization('EXEC'),
      weightsUtilization: utilization('WEIGHTS'),
    })
    .describe('Mean over GPUs, from the end of the warm-up to the nominal end.'),
  policyNotes: list(
    policyNoteSchema,
    'Features of the experiment that the policy does not support.',
  ).exactOptional(),
  cost: costFiguresSchema.exactOptional().describe('Cost of the GPUs, if all kinds have a price.'),
  scaling: scalingFiguresSchema.exactOptional().describe('Number of GPUs over time, if a scaler decided it.'),
});
const scheduler = optional(schedulerFiguresSchema.shape);

/** Headline figures of one run, as printed by `simulate --json`. Figures that were not measured are absent. */
export const summarySchema = z
  .object({
    name: text('Name of the experiment.'),
    kind: z
      .enum(['simulated', 'live', 'load'])
      .describe(
        'simulated: in virtual time; live: in real time on devices; load: what a client saw of a server.',
      ),
    seed: z.union([z.number(), z.string()]).describe('Seed of every random stream of the run.'),
    digest: scheduler.digest,
    policy: scheduler.policy,
    durationSeconds: amount(
      'Nominal duration of the workload without the warm-up, seconds; 0 if all counted requests arrive at one instant: rates are then null.',
    ),
    ...requestFigures,
    cancelled: count(
      'Requests that clients withdrew before execution; they do not count as offered.',
    ).exactOptional(),
    ...modelFairnessShape,
    ...optional(weightedShape),
    by: runPartsSchema.describe(
      'Parts of the run by dimension, each with the counts, rates and latencies above.',
    ),
    percentiles: list(
      percentileMsSchema,
      'Other percentiles that thresholds and targets name, ascending.',
    ).exactOptional(),
    actions: scheduler.actions,
    gpu: scheduler.gpu,
    policyNotes: scheduler.policyNotes,
    cost: scheduler.cost,
    scaling: scheduler.scaling,
    answers: list(
      answerCountSchema,
      "The server's answers by status and reason, the most frequent first; loads only.",
    ).exactOptional(),
    generator: generatorSchema.exactOptional(),
    wall: z
      .object({
        seconds: amount('Real time that the run took.'),
        processedRps: amount('Requests per second of real time.'),
        peakRssBytes: count().nullable().describe('Peak resident memory of the process; null in a browser.'),
      })
      .describe('Real time and memory that the run took; the only part that differs between equal runs.'),
  })
  .describe('Headline figures of one escapement run.');

export function sloMs(whose: string) {
  return z.number().positive().nullable().describe(`SLO of ${whose}, ms; null where requests differ.`);
}

/** JSON Schema (draft 2020-12) of the output of `simulate --json`. */
export function summaryJsonSchema(): Record<string, unknown> {
  const thresholds = list(thresholdResultSchema, 'The given thresholds, in order.').exactOptional();
  return z.toJSONSchema(
    summarySchema.extend({ thresholds }).describe('Output of simulate --json: headline figures of one run.'),
  ) as Record<string, unknown>;
}
