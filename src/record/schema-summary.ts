import * as z from 'zod';
import { POLICY_NOTES } from './policy-notes.js';
import { latencies, percentileMsSchema, thresholdResultSchema } from './schema-latency.js';
import { failureCountsSchema, modelFairnessShape } from './schema-models.js';
import { answerCountSchema, generatorSchema, optional } from './schema-origin.js';

const count = () => z.int().nonnegative();
const utilization = (lanes: string) =>
  z
    .number()
    .nonnegative()
    .nullable()
    .describe(`Share of time that the ${lanes} lanes were busy; null: the run has no span.`);
/** A rate over the counted time. */
export const perSecond = (what: string) =>
  z.number().nonnegative().nullable().describe(`${what}; null: the run has no span.`);
const share = () => z.number().min(0).max(1);
const attainmentOf = (whose: 'its' | 'the') =>
  share()
    .nullable()
    .describe(
      `Share of ${whose} offered requests that were answered within their SLO; null: nothing was offered.`,
    );

export const requestCountsSchema = z.object({
  offered: count().describe('Requests that arrived after the warm-up; the sum of the other five.'),
  ok: count().describe('Executed and answered by their deadline.'),
  late: count().describe('Executed, and answered after their deadline.'),
  timeout: count().describe('Given up before execution, because they could no longer be served in time.'),
  rejected: count().describe('Refused on arrival.'),
  error: count().describe('Part of an action that failed.'),
});

export const actionCountsSchema = z.object({
  load: count().describe('LOAD actions, regardless of their result.'),
  unload: count().describe('UNLOAD actions, regardless of their result.'),
  infer: count().describe('INFER actions, regardless of their result.'),
  tooLate: count().describe('Actions that missed their window (status 51 or 81).'),
  inferByBatch: z
    .record(z.string(), count())
    .describe('INFER actions that succeeded, by batch size, e.g. {"1": 527, "2": 2058}.'),
});

/** Figures of the GPUs of one kind, from the end of the warm-up to the nominal end. */
export const kindFiguresSchema = z.object({
  kind: z.string().describe('Name of the kind in cluster.gpus.'),
  gpus: count().describe('GPUs of the kind; with a scaler the most that were paid for at a time.'),
  gpuHours: z
    .number()
    .nonnegative()
    .exactOptional()
    .describe('Hours that GPUs of the kind were paid for; absent without a scaler.'),
  pricePerHour: z
    .number()
    .nonnegative()
    .exactOptional()
    .describe('Price of one GPU per hour; absent: not given.'),
  ok: count().describe('Requests that they answered within their SLO.'),
  infer: count().describe('Successful INFER actions.'),
  execUtilization: utilization('EXEC'),
  weightsUtilization: utilization('WEIGHTS'),
});

export const costFiguresSchema = z.object({
  perHour: z.number().nonnegative().describe('Price of all GPUs per hour; with a scaler the mean.'),
  perMillionInTime: z
    .number()
    .nonnegative()
    .nullable()
    .describe(
      'Price of a million requests answered within their SLO; null: there were none, or the run has no span.',
    ),
});

/** Figures of a scaler, from the end of the warm-up to the nominal end. */
export const scalingFiguresSchema = z.object({
  scaler: z.string().describe('Scaler that decided the number of GPUs.'),
  gpuHours: z.number().nonnegative().describe('Hours that GPUs were paid for, from order to end.'),
  meanGpus: z
    .number()
    .nonnegative()
    .nullable()
    .describe('GPUs that were paid for, the mean over time; null: the run has no span.'),
  mostGpus: count().describe('GPUs that were paid for, the most at a time.'),
  ordered: count().describe('GPUs that were ordered.'),
  stopped: count().describe('GPUs that were stopped, orders that were called off included.'),
});

/** Weight and results of one class of requests. */
export const classFiguresSchema = z.object({
  name: z.string().describe('Name of the class.'),
  weight: z.number().positive().describe('Weight of one of its requests answered in time.'),
  share: share().describe('Share of GPU time that it is guaranteed while its requests wait; 0: none.'),
  requests: requestCountsSchema,
  offeredRps: perSecond('Its offered requests per second of nominal duration'),
  goodputRps: perSecond('Its requests answered within their SLO per second of nominal duration'),
  attainment: attainmentOf('its'),
  gpuShare: share()
    .nullable()
    .describe(
      'Its part of the time of INFERs, which the requests of a batch share evenly; null where a client measured, which cannot see it, and where no INFER ran.',
    ),
  ...latencies,
});

/** Requests and results of one tenant. */
export const tenantFiguresSchema = z.object({
  name: z.string().describe('Name of the tenant.'),
  share: share()
    .nullable()
    .default(null)
    .describe('Its effective share under overload, of 1; null in results that do not record it.'),
  requests: requestCountsSchema,
  overRate: count()
    .nullable()
    .default(0)
    .describe('Rejected requests beyond its rate; null if a client measured, which cannot see it.'),
  overShare: count()
    .nullable()
    .default(0)
    .describe('Rejected requests beyond its fair share under overload; null if a client measured.'),
  gpuShare: share()
    .nullable()
    .default(null)
    .describe(
      'Its part of the time of INFERs, which the requests of a batch share evenly; null where a client measured, where no INFER ran, and in results that do not say.',
    ),
  offeredRps: perSecond('Its offered requests per second of nominal duration'),
  goodputRps: perSecond('Its requests answered within their SLO per second of nominal duration'),
  attainment: attainmentOf('its'),
  ...latencies,
});

/** Present if the experiment declares classes. */
export const weightedShape = {
  weightedOfferedRps: perSecond('Offered requests per second, each counted by the weight of its class'),
  weightedGoodputRps: perSecond(
    'Requests answered within their SLO per second, each counted by the weight of its class',
  ),
  weightedAttainment: share()
    .nullable()
    .describe('weightedGoodputRps as a share of weightedOfferedRps; null: nothing was offered.'),
};

/** Figures that only the scheduler knows; unknown to a client. */
export const schedulerFiguresSchema = z.object({
  digest: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .describe(
      'Running hash of every decision: equal digests mean equal runs. Absent for a load, as are the other figures that only the scheduler knows.',
    ),
  policy: z.string().describe('Scheduling policy; absent for a load.'),
  actions: actionCountsSchema.describe('Actions that were sent after the warm-up; absent for a load.'),
  coldStarts: count().describe('Requests that arrived while no GPU held their model; absent for a load.'),
  gpu: z
    .object({
      execUtilization: utilization('EXEC'),
      weightsUtilization: utilization('WEIGHTS'),
    })
    .describe('Mean over GPUs, from the end of the warm-up to the nominal end; absent for a load.'),
  kinds: z
    .array(kindFiguresSchema)
    .exactOptional()
    .describe('Figures by kind of GPU; absent unless cluster.gpus lists kinds.'),
  kindsNote: z
    .string()
    .exactOptional()
    .describe('Use of several kinds of GPUs by the policy, if its published rule does not cover them.'),
  policyNotes: z
    .array(z.enum(POLICY_NOTES))
    .exactOptional()
    .describe(
      'Features of the experiment that the policy does not support: weights, serving requests within shares first (with padding: bucket no policy does), batching by length (with classes no policy does). Absent: it supports all.',
    ),
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
    name: z.string().describe('Name of the experiment.'),
    kind: z
      .enum(['simulated', 'live', 'load'])
      .describe(
        'simulated: in virtual time; live: in real time on devices; load: what a client saw of a server.',
      ),
    seed: z.union([z.number(), z.string()]).describe('Seed of every random stream of the run.'),
    digest: scheduler.digest,
    policy: scheduler.policy,
    durationSeconds: z
      .number()
      .nonnegative()
      .describe(
        'Nominal duration of the workload without the warm-up, seconds; 0: the run has no span, as all that is counted arrives at one instant.',
      ),
    requests: requestCountsSchema.describe('Requests by outcome.'),
    cancelled: count()
      .exactOptional()
      .describe('Requests that clients withdrew before execution, which count as not offered; absent: none.'),
    offeredRps: perSecond('Offered requests per second of nominal duration'),
    goodputRps: perSecond('Requests answered within their SLO per second of nominal duration'),
    attainment: attainmentOf('the'),
    ...modelFairnessShape,
    failures: failureCountsSchema
      .exactOptional()
      .describe('Failed requests by cause; absent where a client measured, which cannot see causes.'),
    classes: z
      .array(classFiguresSchema)
      .exactOptional()
      .describe('Figures by class, in the order of their declaration; absent: there are none.'),
    ...optional(weightedShape),
    tenants: z
      .array(tenantFiguresSchema)
      .exactOptional()
      .describe('Figures by tenant, in the order of their declaration; absent: there are none.'),
    ...latencies,
    percentiles: z
      .array(percentileMsSchema)
      .exactOptional()
      .describe('Further percentiles that a threshold or target asked for, ascending; absent: none.'),
    actions: scheduler.actions,
    coldStarts: scheduler.coldStarts,
    gpu: scheduler.gpu,
    kinds: scheduler.kinds,
    kindsNote: scheduler.kindsNote,
    policyNotes: scheduler.policyNotes,
    cost: scheduler.cost,
    scaling: scheduler.scaling,
    answers: z
      .array(answerCountSchema)
      .exactOptional()
      .describe("The server's answers by status and reason, the most frequent first; loads only."),
    generator: generatorSchema.exactOptional(),
    wall: z
      .object({
        seconds: z.number().nonnegative().describe('Real time that the run took.'),
        processedRps: z.number().nonnegative().describe('Requests per second of real time.'),
        peakRssBytes: count()
          .nullable()
          .describe('Largest resident memory of the process; null where it is not known, as in a browser.'),
      })
      .describe(
        'Real time and memory of the run on this machine; the only part that differs between equal runs.',
      ),
  })
  .describe('Headline figures of one escapement run.');

/** Results of one section of the workload. */
export const groupSummarySchema = z.object({
  name: z.string().describe('Name of the workload section, or its kind if it has none.'),
  sloMs: sloMs('its requests'),
  requests: requestCountsSchema,
  offeredRps: perSecond('Its offered requests per second of nominal duration'),
  goodputRps: perSecond('Its requests answered within their SLO per second of nominal duration'),
  attainment: attainmentOf('its'),
  ...latencies,
});

export function sloMs(whose: string) {
  return z.number().positive().nullable().describe(`SLO of ${whose}, ms; null where requests differ.`);
}

/** JSON Schema (draft 2020-12) of the output of `simulate --json`. */
export function summaryJsonSchema(): Record<string, unknown> {
  const thresholds = z
    .array(thresholdResultSchema)
    .exactOptional()
    .describe('The given thresholds, in order; absent: none.');
  return z.toJSONSchema(
    summarySchema.extend({ thresholds }).describe('Output of simulate --json: headline figures of one run.'),
  ) as Record<string, unknown>;
}
