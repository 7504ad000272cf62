import * as z from 'zod';
import type { Immutable } from '../../../base/immutable.js';

/** Version of the status. */
export const STATUS_VERSION = 3;

const figure = z.number();
const average = figure.nullable();
const perSecond = z.array(figure);

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

const rates = {
  offeredRps: figure.describe('Requests that arrived, per second.'),
  goodputRps: figure.describe('Answers within their SLO, per second.'),
  failedRps: figure.describe('All other answers, per second.'),
};

const modelStatus = z.object({
  name: z.string(),
  copies: figure.describe('GPUs that hold it.'),
  queued: figure,
  ...rates,
  queueMs: average.describe(
    'Means of the stages of the requests executed in the window, ms, here and below; null: there were none.',
  ),
  copyInMs: average,
  execMs: average,
  copyOutMs: average,
});

const senderStatus = {
  name: z.string(),
  ...rates,
  refusedRps: figure.describe('Refused by admission or by the policy, per second.'),
  usedShare: average.describe('Share of the GPU time of all answers in the window; null: there was none.'),
};

const classStatus = z.object({
  ...senderStatus,
  weight: figure,
  share: figure.describe('Guaranteed share of GPU time.'),
});

const tenantStatus = z.object({
  ...senderStatus,
  share: figure.describe('Its share of what GPUs can do under overload.'),
  overRateRps: figure.describe('Refused beyond its rate, per second.'),
  overShareRps: figure.describe('Refused beyond its share under overload, per second.'),
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
  windowSeconds: figure.describe('Rates and shares are means over about this long, up to now.'),
  requests: z.object({
    ...rates,
    unanswered: figure,
    totals: z
      .record(z.string(), figure)
      .describe('Since the start, by outcome: ok, late, timeout, rejected, error, cancelled.'),
    lastMinute: z
      .object({ offeredRps: perSecond, goodputRps: perSecond, failedRps: perSecond })
      .describe('Each of the last complete seconds, at most 60, the latest last.'),
  }),
  gpus: z.array(gpuStatus),
  scaling: scalingStatus
    .optional()
    .describe('The last decision of the scaler; absent: there is no scaler, or it has decided nothing yet.'),
  classes: z.array(classStatus).optional().describe('Absent: none are configured.'),
  tenants: z.array(tenantStatus).optional().describe('Absent: none are configured.'),
  models: z.array(modelStatus).describe('The most active ones, at most 200, the most active first.'),
  otherModels: figure.describe('Number of further ones.'),
});

export interface ClusterStatus extends Immutable<z.output<typeof statusSchema>> {}
export interface GpuStatus extends Immutable<z.output<typeof gpuStatus>> {}
export interface ScalingStatus extends Immutable<z.output<typeof scalingStatus>> {}
export interface ClassStatus extends Immutable<z.output<typeof classStatus>> {}
export interface TenantStatus extends Immutable<z.output<typeof tenantStatus>> {}
export interface LaneStatus extends Immutable<z.output<typeof laneStatus>> {}
export interface ModelStatus extends Immutable<z.output<typeof modelStatus>> {}
