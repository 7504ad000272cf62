import * as z from 'zod';
import type { Immutable } from '../../../base/immutable.js';
import { count, share } from '../../../record/schema-figure.js';
import {
  partSchema,
  perSecond,
  requestCountsSchema,
  requestFiguresSchema,
  runPartsSchema,
} from '../../../record/schema-summary.js';

/** Version of the status. */
export const STATUS_VERSION = 4;

const figure = z.number();
const average = figure.nullable();
const perSecondList = z.array(figure);

const laneStatus = z.object({
  lane: z.string().describe('EXEC and WEIGHTS; EXEC+WEIGHTS where a GPU does one thing at a time.'),
  busy: figure.describe('Share of the window in which it was busy.'),
  bookedMs: figure.describe('How far into the future it is booked, ms.'),
  running: z
    .string()
    .describe('What it should be running, e.g. resnet18 ×4 or LOAD resnet18; empty: nothing.'),
});

const gpuStatus = z.object({
  up: z.boolean(),
  worker: z.string(),
  kind: z.string().describe('Kind of GPU as named by its worker, e.g. t4.'),
  lanes: z.array(laneStatus),
  pages: figure,
  freePages: figure,
  warmModels: figure,
});

/** Figures of the summary of a run, of the requests in the window. */
const window = {
  ...requestFiguresSchema.shape,
  requests: requestCountsSchema
    .extend({
      offered: count().describe('Requests that arrived in the window; the other five are answers in it.'),
    })
    .describe('Requests by outcome, here and below of the window.'),
  offeredRps: perSecond('Requests that arrived, per second'),
  goodputRps: perSecond('Answers within their SLO, per second'),
  attainment: share().nullable().describe('Share of answers within their SLO; null: there were none.'),
};
const others = count()
  .exactOptional()
  .describe('Only in a last row for all without one of their own, if there are more than 200: their number.');
const { class: classes, tenant, length, pipeline, step, kind } = runPartsSchema.shape;

/** Breakdowns of the summary of a run, of the requests in the window. */
const partsSchema = z.object({
  class: z
    .array(classes.unwrap().element.extend(window))
    .exactOptional()
    .describe('By class, in the order of their declaration; absent: there are none.'),
  tenant: z
    .array(tenant.unwrap().element.extend({ ...window, others }))
    .exactOptional()
    .describe(
      'By tenant, in the order of their declaration, of many the most active first; absent: there are none.',
    ),
  length: z
    .array(length.unwrap().element.extend(window))
    .exactOptional()
    .describe('By the smallest length that fits their inputs; absent where no model takes several lengths.'),
  pipeline: z
    .array(pipeline.unwrap().element.extend({ ...window, others }))
    .exactOptional()
    .describe('By pipeline, from arrival to the end of the last step; absent: there are none.'),
  step: z
    .array(step.unwrap().element.extend({ ...window, others }))
    .exactOptional()
    .describe(
      'Requests of each pipeline step, against the deadline of the step; absent: there are no pipelines.',
    ),
  kind: z
    .array(
      kind
        .unwrap()
        .element.omit({ gpuHours: true, pricePerHour: true })
        .extend({ ...window, gpus: count().describe('GPUs of the kind that take actions.') }),
    )
    .exactOptional()
    .describe('By kind of the GPU that executed them; absent if all GPUs are of one kind.'),
  model: z
    .array(
      partSchema.extend({
        ...{ ...window, others },
        copies: count().describe('GPUs that hold it.'),
        queued: count().describe('Requests that wait for it.'),
        lengths: z
          .object({
            requests: count().describe('Requests since the start, those of unknown length left out.'),
            shortest: count(),
            longest: count(),
            buckets: z.array(figure).describe('Suggested for its config.yaml.'),
            padding: figure.describe('Padding to these, as a share of the total length of the inputs.'),
          })
          .exactOptional()
          .describe('Lengths of its inputs, if it takes several; absent before it has had 1000 requests.'),
        queueMs: average.describe(
          'Mean wait of executed requests for their INFER, ms; null: there were none.',
        ),
        copyInMs: average.describe('Means of the stages of executed requests, ms, here and below.'),
        execMs: average,
        copyOutMs: average,
      }),
    )
    .describe('The 200 most active models, the most active first.'),
});

const scalingStatus = z.object({
  gpus: z.array(
    z.object({
      kind: z.string(),
      up: figure.describe('GPUs that take actions.'),
      needed: figure.describe('GPUs that the scaler wants, including those in service.'),
    }),
  ),
  reason: z.string().describe('Why, in a few words.'),
});

/** State of a running controller, as returned by `GET /status` and `escapement top --json`. */
export const statusSchema = z.object({
  version: z.literal(STATUS_VERSION),
  policy: z.string(),
  host: z.string(),
  upSeconds: figure,
  ready: z.boolean().describe('Takes requests.'),
  windowSeconds: figure.describe(
    'Figures of requests are of this long, up to now, latencies within 1.6 %; shares of lanes are of about as long.',
  ),
  ...window,
  unanswered: count().describe('Requests that wait or run.'),
  totals: z
    .record(z.string(), figure)
    .describe('Since the start, by outcome: ok, late, timeout, rejected, error, cancelled.'),
  lastMinute: z
    .object({ offeredRps: perSecondList, goodputRps: perSecondList, failedRps: perSecondList })
    .describe('Each of the last complete seconds, at most 60, the latest last.'),
  by: partsSchema.describe('Requests by dimension, each with these same counts, rates and latencies.'),
  gpus: z.array(gpuStatus),
  scaling: scalingStatus
    .optional()
    .describe('The last decision of the scaler; absent: there is no scaler, or it has decided nothing yet.'),
});

export interface ClusterStatus extends Immutable<z.output<typeof statusSchema>> {}
export interface GpuStatus extends Immutable<z.output<typeof gpuStatus>> {}
export interface ScalingStatus extends Immutable<z.output<typeof scalingStatus>> {}
export interface LaneStatus extends Immutable<z.output<typeof laneStatus>> {}
export type ModelStatus = ClusterStatus['by']['model'][number];
