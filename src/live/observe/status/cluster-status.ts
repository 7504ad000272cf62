import * as z from 'zod';
import type { Immutable } from '../../../base/immutable.js';
import {
  count,
  partSchema,
  perSecond,
  requestCountsSchema,
  requestFiguresSchema,
  runPartsSchema,
  share,
} from '../../../record/schema-summary.js';

/** Version of the status. */
export const STATUS_VERSION = 5;

const figure = z.number();
const average = figure.nullable();

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
      offered: count().describe('Arrived in the window; the other five are answers in it.'),
    })
    .describe('Requests in the window by outcome.'),
  offeredRps: perSecond('Requests that arrived, per second'),
  goodputRps: perSecond('Answers within their SLO, per second'),
  attainment: share().nullable().describe('Share of answers within their SLO; null: there were none.'),
};
const others = count()
  .exactOptional()
  .describe('Only in a row after the first 200, for all others: their number.');
const { class: classes, tenant, length, pipeline, step, kind } = runPartsSchema.shape;

/** A breakdown of a run's requests, of those in the window. */
function inWindow<T extends z.ZodRawShape>(breakdown: z.ZodExactOptional<z.ZodArray<z.ZodObject<T>>>) {
  const all = breakdown.unwrap();
  return z
    .array(all.element.extend({ ...window, others }))
    .exactOptional()
    .describe(all.description ?? '');
}

/** Breakdowns of the summary of a run, of the requests in the window. */
const partsSchema = z.object({
  class: inWindow(classes),
  tenant: inWindow(tenant),
  length: inWindow(length),
  pipeline: inWindow(pipeline),
  step: inWindow(step),
  kind: z
    .array(
      kind
        .unwrap()
        .element.omit({ gpuHours: true, pricePerHour: true })
        .extend({ ...window, gpus: count('GPUs of the kind that take actions.') }),
    )
    .exactOptional()
    .describe('Executed requests by kind of GPU; only if there are several.'),
  model: z
    .array(
      partSchema.extend({
        ...{ ...window, others },
        copies: count().describe('GPUs that hold it.'),
        queued: count().describe('Requests that wait for it.'),
        lengths: z
          .object({
            requests: count().describe('Requests since the start with a known length.'),
            shortest: count(),
            longest: count(),
            buckets: z.array(figure).describe('Suggested for its config.yaml.'),
            padding: figure.describe('Padding to these, as a share of the total length of the inputs.'),
          })
          .exactOptional()
          .describe('Lengths of its inputs, after 1000 requests; only if other buckets pad them much less.'),
        queueMs: average.describe('Mean wait of executed requests for their INFER, ms.'),
        copyInMs: average.describe('Mean time of this stage and the next two, ms.'),
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
  blocked: z
    .array(z.string())
    .exactOptional()
    .describe(
      'Models that no GPU in service runs, such as those for a kind whose workers are away; at most 200.',
    ),
  windowSeconds: figure.describe(
    'Length of the window that figures are of, up to now; latencies are within 1.6 %.',
  ),
  ...window,
  unanswered: count().describe('Requests that wait or run.'),
  totals: z
    .record(z.string(), figure)
    .describe('Since the start, by outcome: ok, late, timeout, rejected, error, cancelled.'),
  by: partsSchema.describe('Requests by dimension, each with the counts, rates and latencies above.'),
  gpus: z.array(gpuStatus),
  scaling: scalingStatus.optional().describe('The last decision of the scaler.'),
});

export interface ClusterStatus extends Immutable<z.output<typeof statusSchema>> {}
export interface GpuStatus extends Immutable<z.output<typeof gpuStatus>> {}
export interface ScalingStatus extends Immutable<z.output<typeof scalingStatus>> {}
export interface LaneStatus extends Immutable<z.output<typeof laneStatus>> {}
export type ModelStatus = ClusterStatus['by']['model'][number];
