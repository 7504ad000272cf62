import * as z from 'zod';
import { PADDINGS } from '../core/lengths.js';
import { CAUSE_LABELS, CAUSE_MEANINGS, CAUSES, type Cause } from './causes.js';

/** Facts about a figure; its description is its field's. */
export interface FigureFacts {
  /** ms for latencies, a share of 1, a count, per second, hours, or an amount in the currency of the experiment. */
  readonly unit: 'ms' | 'share' | 'count' | 'perSecond' | 'hours' | 'price';
  /** Name for people. */
  readonly label: string;
  /** Direction of improvement; absent: neither. */
  readonly better?: 'higher' | 'lower';
  /** Name in thresholds, if not that of its field. */
  readonly name?: string;
  /** True if it covers only models with enough requests to be assessed. */
  readonly ofAssessedModels?: true;
  /** True if only the scheduler knows it: a client of a server has nothing to measure. */
  readonly ofScheduler?: true;
}

/** Registry of the fields of a summary, and of its parts, that are figures. */
export const FIGURES = z.registry<FigureFacts>();

/** Fields with their descriptions; list items need none. */
export const count = (about = '') => described(z.int().nonnegative(), about);
export const amount = (about = '') => described(z.number().nonnegative(), about);
export const amountOrNull = (about: string) => amount().nullable().describe(about);
export const share = (about = '') => described(z.number().min(0).max(1), about);
export const shareOrNull = (about: string) => share().nullable().describe(about);
export const text = (about = '') => described(z.string(), about);
export const list = <T extends z.ZodType>(item: T, about: string) => z.array(item).describe(about);

function described<T extends z.ZodType>(schema: T, about: string): T {
  return about === '' ? schema : schema.describe(about);
}

const latency = () => z.number().nonnegative().nullable();

export const latencyMsSchema = z.object({
  mean: latency().describe('Arithmetic mean.'),
  p50: latency().describe('50th percentile (nearest rank, within 0.05 %, as the other percentiles).'),
  p90: latency().describe('90th percentile.'),
  p95: latency().describe('95th percentile.'),
  p99: latency().describe('99th percentile.'),
  p999: latency().describe('99.9th percentile.'),
  p9999: latency().describe('99.99th percentile.'),
  max: latency().describe('Largest value.'),
});

/** Both readings of latency, for a run or for a group of its requests. */
export const latencies = {
  offeredLatencyMs: latencyMsSchema.describe(
    'Latency of all offered requests, ms, which thresholds and targets use. A request that was not answered within its SLO counts as infinitely late: a percentile that falls on one is null, and so are mean and max if there is one.',
  ),
  executedLatencyMs: latencyMsSchema.describe('Latency of executed requests only (ok and late).'),
};

export const percentileMsSchema = z.object({
  percentile: z.number().min(0).max(100).describe('E.g. 99.95.'),
  offeredMs: latency().describe('As in offeredLatencyMs.'),
  executedMs: latency().describe('As in executedLatencyMs.'),
});

export const latencyCdfSchema = z.object({
  percentile: list(
    z.number().min(0).max(100),
    'Ascending; the last is the share of requests answered in time.',
  ),
  ms: list(z.number().nonnegative(), 'Latency at each percentile, ms.'),
});

export const thresholdResultSchema = z.object({
  threshold: text('As written.'),
  ok: z.boolean().describe('True if it is met.'),
  actual: z
    .number()
    .nullable()
    .describe(
      'The measured value, latencies in ms; null if there was nothing to measure, which fails, or if a latency falls on a request not answered in time.',
    ),
  measured: text('Figure as text, e.g. 94 ms.'),
});

/** Failed requests by cause. */
export const failureCountsSchema = z.object(
  Object.fromEntries(CAUSES.map((cause) => [cause, causeCount(cause)])) as Record<
    Cause,
    ReturnType<typeof causeCount>
  >,
);

function causeCount(cause: Cause) {
  const field = count(CAUSE_MEANINGS[cause]);
  // `late` is already a figure, as an outcome.
  if (cause === 'late') return field;
  const label = CAUSE_LABELS[cause];
  return field.register(FIGURES, { unit: 'count', label, better: 'lower', ofScheduler: true });
}

/** Fairness over models, because overall attainment hides models that got nothing. */
export const modelFairnessShape = {
  worstModel: z
    .object({
      name: text('Name of the model.'),
      attainment: share('Lowest attainment of a model with at least 20 requests.').register(FIGURES, {
        ...{ unit: 'share', name: 'worstModelAttainment', label: 'worst model attainment' },
        ...{ better: 'higher', ofAssessedModels: true },
      }),
      offered: count('Its requests.'),
    })
    .nullable()
    .describe('Model with the lowest attainment of those with at least 20 requests.'),
  modelsBelow50: modelsBelow('50 %', 'half'),
  modelsBelow90: modelsBelow('90 %'),
  modelsAssessed: count('Models with at least 20 requests: the figures above are of these.'),
  rareModels: z
    .object({
      models: count('Models with 1 to 19 requests.'),
      offered: count('Their requests.'),
      attainment: shareOrNull('Attainment of the models with 1 to 19 requests, taken together.').register(
        FIGURES,
        {
          ...{ unit: 'share', name: 'rareModelsAttainment', label: 'rare models attainment' },
          better: 'higher',
        },
      ),
    })
    .describe('Models with too few requests to be assessed one by one, taken together.'),
};

function modelsBelow(attainment: string, label = attainment) {
  return count(`Models with at least 20 requests and an attainment below ${attainment}.`).register(FIGURES, {
    ...{ unit: 'count', label: `models below ${label}`, better: 'lower' },
    ofAssessedModels: true,
  });
}

/** Facts that, with the experiment, identify a run and allow repeating it. */
export const originSchema = z
  .object({
    escapement: text('Version of escapement.'),
    file: text(
      'Path of the experiment file as typed; relative paths in it begin at its folder.',
    ).exactOptional(),
    flags: list(
      z.string(),
      'Flags of the command as typed, without --set, --seed and --out; absent: none.',
    ).exactOptional(),
    devices: text('Devices of a live run, e.g. 2 × cpu.').exactOptional(),
    url: text('Address of the server that was loaded.').exactOptional(),
    environment: z
      .record(z.string(), z.string())
      .exactOptional()
      .describe('Other facts that its figures depend on, e.g. Node; absent for simulated runs.'),
  })
  .describe('Origin of the run, in addition to the experiment; absent for runs made with the library.');

/** Answers of a server with one status and reason, as counted by a client. */
export const answerCountSchema = z.object({
  status: text('HTTP 429, gRPC RESOURCE_EXHAUSTED or no answer.'),
  count: count('Requests with this status and reason.'),
  message: text(
    'First message with this reason; empty for successes. Messages that differ only in numbers and quoted names have one reason; a sixth stands for all further ones of a status.',
  ),
});

export const latenessMsSchema = z.object({
  p50: z.number().describe('Median.'),
  p99: z.number().describe('99th percentile.'),
  max: z.number().describe('Largest value.'),
});

export const unansweredSchema = z
  .object({
    neverSent: count('Never sent: no connection was free or could be opened.'),
    lost: count('Sent, but the connection broke: they may have been executed.'),
    givenUp: count('Sent, and never answered.'),
  })
  .describe('Requests that the server left without an answer, warm-up included; loads only.');

export const retryFiguresSchema = z
  .object({
    requests: count('Requests that were sent more than once.'),
    attempts: count('Number of retries.'),
  })
  .describe('Retries of load --retry; only with that flag.');

/** Quality of request sending: this lateness is not the server's. */
export const generatorSchema = z
  .object({
    sentLateMs: latenessMsSchema
      .exactOptional()
      .describe('Lateness of sending, ms; absent: there were no requests.'),
    timersLateMs: latenessMsSchema
      .exactOptional()
      .describe("Lateness of the scheduler's timers, ms; live runs only."),
    retries: retryFiguresSchema.exactOptional(),
    waitedForConnection: count('Requests that waited for a free connection.'),
    notSent: count('Requests that were not sent because too many were unanswered.'),
    unanswered: unansweredSchema.exactOptional(),
  })
  .describe('Quality of request sending; absent for simulated runs.');

/** Cluster facts needed to check the logs; unknown to a client. */
const clusterSetupSchema = z.object({
  gpus: count('GPUs of the cluster; this and the following are absent for a load.'),
  workers: count('Worker machines, to which GPUs are dealt in blocks.'),
  cachePages: count("Pages of each GPU's weights cache; see also kinds."),
  kinds: list(
    z.object({
      name: text('Name of the kind in cluster.gpus.'),
      gpus: count('GPUs of the kind; their numbers follow those of the kind before.'),
      cachePages: count("Pages of each one's weights cache."),
    }),
    'The kinds of GPUs; absent unless cluster.gpus lists kinds.',
  ).exactOptional(),
  modelPages: list(count(), 'Pages of the weights of each model.'),
  modelInferMs: list(
    z.number().positive(),
    'Duration of an INFER of one request of each model, ms; on the kind that is fastest at it.',
  ),
  modelLengths: list(
    z.array(count()),
    'Lengths that inputs of each model may be padded to, ascending, empty where all have one; absent where no model has several.',
  ).exactOptional(),
  padding: z
    .enum(PADDINGS)
    .exactOptional()
    .describe('Padding of inputs that share a batch, if models have lengths.'),
  pipelines: list(
    z.object({
      name: text('Its name.'),
      steps: list(
        z.object({
          id: text('Its name within the pipeline.'),
          model: count('Index of its model, of several variants the most accurate.'),
          variants: list(
            z.object({
              model: count('Index of its model.'),
              accuracy: share('Share of its answers that are right.'),
            }),
            'Models of which any may serve a request, the most accurate first; absent: only the one.',
          ).exactOptional(),
          after: list(count(), 'Indices of the steps that it waits for.'),
        }),
        'Its steps; in the logs, those of all pipelines are numbered in order.',
      ),
    }),
    'Pipelines, numbered after the models; absent: there are none.',
  ).exactOptional(),
  oneLane: z.boolean().describe('LOADs and INFERs of a GPU share one lane.'),
  overheadMs: amount("Time between a lane picking up an action and the action's begin, ms."),
  clockOffsetMs: amount('Largest offset of the clock of a worker, ms.'),
  policyOptions: z
    .record(z.string(), z.union([z.number(), z.string()]).optional())
    .describe('Options of the policy, defaults included; durations in ns.'),
});

export const setupSchema = z
  .object({
    firstUsers: list(count(), 'First user id of each workload section, ascending from 0.'),
    ...optional(clusterSetupSchema.shape),
  })
  .describe('Facts that check needs in addition to the logs.');

/** The given fields, each optional. */
export function optional<Shape extends Readonly<Record<string, z.ZodType>>>(shape: Shape) {
  const fields = Object.entries(shape).map(([key, field]) => [key, field.exactOptional()]);
  return Object.fromEntries(fields) as { [K in keyof Shape]: z.ZodExactOptional<Shape[K]> };
}

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
      latencyCdf: latencyCdfSchema.describe(
        'Latency by percentile of all its offered requests, in steps of 5 up to 95.',
      ),
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
