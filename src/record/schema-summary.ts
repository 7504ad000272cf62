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
  amountOrNull(`Share of time that the ${lanes} lanes were busy; null: the run has no span.`).register(
    FIGURES,
    { unit: 'share', label: `${lanes} busy`, ofScheduler: true },
  );
/** A rate over the counted time. */
export const perSecond = (what: string) => amountOrNull(`${what}; null: the run has no span.`);
const rate = (what: string, facts: Omit<FigureFacts, 'unit'>) =>
  perSecond(what).register(FIGURES, { unit: 'perSecond', ...facts });
const outcome = (what: string, facts: Omit<FigureFacts, 'unit'>) =>
  count(what).register(FIGURES, { unit: 'count', ...facts });

export const requestCountsSchema = z.object({
  offered: outcome('Requests that arrived after the warm-up; the sum of the other five.', {
    label: 'requests',
  }),
  ok: outcome('Executed and answered by their deadline.', { label: 'ok', better: 'higher' }),
  late: outcome('Executed, and answered after their deadline.', { label: 'late', better: 'lower' }),
  timeout: outcome(
    'Given up before execution: in no INFER by the time that the policy sets, which may lie before the deadline.',
    { label: 'timeout', better: 'lower' },
  ),
  rejected: outcome('Refused on arrival.', { label: 'rejected', better: 'lower' }),
  error: outcome('Part of an action that failed.', { label: 'error', better: 'lower' }),
});

/** Counts of requests besides those by outcome and by cause. */
const furtherCounts = {
  coldStarts: count('Requests that arrived while no GPU held their model; absent if a client measured.')
    .register(FIGURES, { unit: 'count', label: 'cold starts', better: 'lower', ofScheduler: true })
    .exactOptional(),
  coldInTime: count('Cold starts that were answered by their deadline; absent if a client measured.')
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
  accuracy: shareOrNull(
    'Mean accuracy of the answers within their SLO that variants gave; that of a pipeline is the product over its steps with variants that ran, each the mean over its requests; absent: none.',
  )
    .register(FIGURES, { unit: 'share', label: 'accuracy', better: 'higher', ofScheduler: true })
    .exactOptional(),
  accurateAttainment: shareOrNull(
    'Attainment times accuracy: the share of offered requests that were answered within their SLO, and rightly; absent: no accuracy.',
  )
    .register(FIGURES, { unit: 'share', label: 'attainment × accuracy', better: 'higher', ofScheduler: true })
    .exactOptional(),
  ...latencies,
  ...furtherCounts,
  failures: failureCountsSchema
    .exactOptional()
    .describe('Failed requests by cause; absent if a client measured, which cannot see causes.'),
};
export const requestFiguresSchema = z.object(requestFigures);

export const partSchema = z.object({
  key: text('Name of the part.'),
  ...requestFigures,
  gpuShare: shareOrNull(
    'Its share of INFER time, which the requests of a batch share evenly; null if no INFER ran, absent if a client measured.',
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
    'By group of users: the sections of the workload; absent if there is one.',
  ).exactOptional(),
  class: list(
    partSchema.extend({
      weight: z.number().positive().describe('Weight of one of its requests answered in time.'),
      share: share('Share of GPU time that it is guaranteed while its requests wait; 0: none.'),
    }),
    'By class, in the order of their declaration; absent: there are none.',
  ).exactOptional(),
  tenant: list(
    partSchema.extend({ share: share('Its effective share under overload, of 1.') }),
    'By tenant, in the order of their declaration; absent: there are none.',
  ).exactOptional(),
  length: list(
    partSchema,
    'By the smallest length that fits their inputs, shortest first; absent if no model takes several lengths.',
  ).exactOptional(),
  pipeline: list(
    partSchema,
    'By pipeline, from arrival to the end of the last step; absent: there are none.',
  ).exactOptional(),
  step: list(
    partSchema.extend({
      failedHere: count(
        'Requests of the pipeline that failed at this step: at the first one if they were refused on arrival; absent in a running server.',
      )
        .register(FIGURES, { unit: 'count', label: 'failed here', better: 'lower', ofScheduler: true })
        .exactOptional(),
    }),
    'Requests of each pipeline step, from the end of the steps before it to its own end, against the deadline of the step; absent: there are no pipelines, or a client measured.',
  ).exactOptional(),
  kind: list(
    partSchema.extend({
      gpus: count('GPUs of the kind; with a scaler the most that were paid for at a time.'),
      gpuHours: amount('Hours that GPUs of the kind were paid for; absent without a scaler.').exactOptional(),
      pricePerHour: amount('Price of one GPU per hour; absent: not given.').exactOptional(),
      infer: count('Successful INFER actions.'),
      execUtilization: utilization('EXEC'),
      weightsUtilization: utilization('WEIGHTS'),
    }),
    'By kind of the GPU that executed them, so without those that no GPU executed; absent unless cluster.gpus lists kinds.',
  ).exactOptional(),
  model: list(
    modelFiguresSchema,
    'Every model that had requests, those of pipeline steps included, the worst first, with latencies within 0.8 %; in the cells of a sweep the first 20 and those that thresholds name.',
  ),
});

export const actionCountsSchema = z.object({
  load: count('LOAD actions, regardless of their result.'),
  unload: count('UNLOAD actions, regardless of their result.'),
  infer: count('INFER actions, regardless of their result.'),
  tooLate: count('Actions that missed their window (status 51 or 81).'),
  inferByBatch: z
    .record(z.string(), count())
    .describe('INFER actions that succeeded, by batch size, e.g. {"1": 527, "2": 2058}.'),
});

const COST = { unit: 'price', better: 'lower', ofScheduler: true } as const;
export const costFiguresSchema = z.object({
  perHour: amount('Price of all GPUs per hour; with a scaler the mean.').register(FIGURES, {
    name: 'costPerHour',
    label: 'cost per hour',
    ...COST,
  }),
  perMillionInTime: amountOrNull(
    'Price of a million requests answered within their SLO; null: there were none, or the run has no span.',
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
  meanGpus: amountOrNull('GPUs that were paid for, the mean over time; null: the run has no span.'),
  mostGpus: count('GPUs that were paid for, the most at a time.'),
  ordered: count('GPUs that were ordered.'),
  stopped: count('GPUs that were stopped, orders that were called off included.'),
});

/** Present if the experiment declares classes. */
export const weightedShape = {
  weightedOfferedRps: perSecond('Offered requests per second, each counted by the weight of its class'),
  weightedGoodputRps: rate(
    'Requests answered within their SLO per second, each counted by the weight of its class',
    { label: 'goodput by weight', better: 'higher' },
  ),
  weightedAttainment: shareOrNull(
    'weightedGoodputRps as a share of weightedOfferedRps; null: nothing was offered.',
  ).register(FIGURES, { unit: 'share', label: 'attainment by weight', better: 'higher' }),
};

/** Setting of an experiment that a policy does not support, or that no policy can help. */
export const policyNoteSchema = z.object({
  kind: z.enum(['warning', 'note']).describe('warning: a requested setting is ignored.'),
  policy: text('The policy; absent: no policy would change it.').exactOptional(),
  text: text('What it does instead.'),
});

/** Figures that only the scheduler knows; unknown to a client. */
export const schedulerFiguresSchema = z.object({
  digest: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .describe(
      'Running hash of every decision: equal digests mean equal runs. Absent for a load, as are the other figures that only the scheduler knows.',
    ),
  policy: text('Scheduling policy; absent for a load.'),
  actions: actionCountsSchema.describe('Actions that were sent after the warm-up; absent for a load.'),
  gpu: z
    .object({
      execUtilization: utilization('EXEC'),
      weightsUtilization: utilization('WEIGHTS'),
    })
    .describe('Mean over GPUs, from the end of the warm-up to the nominal end; absent for a load.'),
  policyNotes: list(
    policyNoteSchema,
    'Features of the experiment that the policy does not support; absent: it supports all.',
  ).exactOptional(),
  cost: costFiguresSchema
    .exactOptional()
    .describe('Cost of the GPUs, by the prices of their kinds; absent unless all have one.'),
  scaling: scalingFiguresSchema
    .exactOptional()
    .describe('Number of GPUs over time; absent unless a scaler decided it.'),
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
      'Nominal duration of the workload without the warm-up, seconds; 0: the run has no span, as all that is counted arrives at one instant.',
    ),
    ...requestFigures,
    cancelled: count(
      'Requests that clients withdrew before execution, which count as not offered; absent: none.',
    ).exactOptional(),
    ...modelFairnessShape,
    ...optional(weightedShape),
    by: runPartsSchema.describe(
      'Parts of the run by dimension, each with these same counts, rates and latencies.',
    ),
    percentiles: list(
      percentileMsSchema,
      'Further percentiles that a threshold or target asked for, ascending; absent: none.',
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
        peakRssBytes: count()
          .nullable()
          .describe('Largest resident memory of the process; null where it is not known, as in a browser.'),
      })
      .describe(
        'Real time and memory of the run on this machine; the only part that differs between equal runs.',
      ),
  })
  .describe('Headline figures of one escapement run.');

export function sloMs(whose: string) {
  return z.number().positive().nullable().describe(`SLO of ${whose}, ms; null where requests differ.`);
}

/** JSON Schema (draft 2020-12) of the output of `simulate --json`. */
export function summaryJsonSchema(): Record<string, unknown> {
  const thresholds = list(
    thresholdResultSchema,
    'The given thresholds, in order; absent: none.',
  ).exactOptional();
  return z.toJSONSchema(
    summarySchema.extend({ thresholds }).describe('Output of simulate --json: headline figures of one run.'),
  ) as Record<string, unknown>;
}
