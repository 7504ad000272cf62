import * as z from 'zod';
import { PADDINGS } from '../core/lengths.js';
import { count } from './schema-figure.js';

/** Origin of a run in addition to its experiment: enough to identify and repeat it. */
export const originSchema = z
  .object({
    escapement: z.string().describe('Version of escapement.'),
    flags: z
      .array(z.string())
      .exactOptional()
      .describe('Flags of the command as typed, without --set, --seed and --out; absent: none.'),
    devices: z.string().exactOptional().describe('Devices of a live run, e.g. 2 × cpu.'),
    url: z.string().exactOptional().describe('Address of the server that was loaded.'),
    environment: z
      .record(z.string(), z.string())
      .exactOptional()
      .describe('Other facts that its figures depend on, e.g. Node; absent for simulated runs.'),
  })
  .describe('Origin of the run, in addition to the experiment; absent for runs made with the library.');

/** Answers of a server with one status and reason, as counted by a client. */
export const answerCountSchema = z.object({
  status: z.string().describe('HTTP 429, gRPC RESOURCE_EXHAUSTED or no answer.'),
  count: count().describe('Requests with this status and reason.'),
  message: z
    .string()
    .describe(
      "The server's first message of them; empty for successes. Messages that differ in numbers and quoted names only are of one reason; what comes after five reasons of a status is counted as one more.",
    ),
});

export const latenessMsSchema = z.object({
  p50: z.number().describe('Median.'),
  p99: z.number().describe('99th percentile.'),
  max: z.number().describe('Largest value.'),
});

export const unansweredSchema = z
  .object({
    neverSent: count().describe(
      'Requests that were never sent, as no connection was free or could be opened.',
    ),
    lost: count().describe(
      'Requests whose connection broke after they were sent: they may have been executed.',
    ),
    givenUp: count().describe('Requests that were sent, and that the server never answered.'),
  })
  .describe('Requests that the server left without an answer, warm-up included; loads only.');

export const retryFiguresSchema = z
  .object({
    requests: count().describe('Requests that were sent more than once.'),
    attempts: count().describe('Number of retries.'),
  })
  .describe('Retries of load --retry; only with that flag.');

/** Quality of request sending: lateness here is not the fault of the server. */
export const generatorSchema = z
  .object({
    sentLateMs: latenessMsSchema
      .exactOptional()
      .describe('Lateness of sending, ms; absent: there were no requests.'),
    timersLateMs: latenessMsSchema
      .exactOptional()
      .describe("Lateness of the scheduler's timers, ms; live runs only."),
    retries: retryFiguresSchema.exactOptional(),
    waitedForConnection: count().describe('Requests that waited for a free connection.'),
    notSent: count().describe('Requests that were not sent because too many were unanswered.'),
    unanswered: unansweredSchema.exactOptional(),
  })
  .describe('Quality of request sending; absent for simulated runs.');

/** Cluster facts needed to check the logs; unknown to a client. */
const clusterSetupSchema = z.object({
  gpus: count().describe('GPUs of the cluster; this and the following are absent for a load.'),
  workers: count().describe('Worker machines, to which GPUs are dealt in blocks.'),
  cachePages: count().describe("Pages of each GPU's weights cache; see also kinds."),
  kinds: z
    .array(
      z.object({
        name: z.string().describe('Name of the kind in cluster.gpus.'),
        gpus: count().describe('GPUs of the kind; their numbers follow those of the kind before.'),
        cachePages: count().describe("Pages of each one's weights cache."),
      }),
    )
    .exactOptional()
    .describe('The kinds of GPUs; absent unless cluster.gpus lists kinds.'),
  modelPages: z.array(count()).describe('Pages of the weights of each model.'),
  modelInferMs: z
    .array(z.number().positive())
    .describe('Duration of an INFER of one request of each model, ms; on the kind that is fastest at it.'),
  modelLengths: z
    .array(z.array(count()))
    .exactOptional()
    .describe(
      'Lengths that inputs of each model may be padded to, ascending, empty where all have one; absent where no model has several.',
    ),
  padding: z
    .enum(PADDINGS)
    .exactOptional()
    .describe('Padding of inputs that share a batch, if models have lengths.'),
  oneLane: z.boolean().describe('LOADs and INFERs of a GPU share one lane.'),
  overheadMs: z
    .number()
    .nonnegative()
    .describe("Time between a lane picking up an action and the action's begin, ms."),
  clockOffsetMs: z.number().nonnegative().describe('Largest offset of the clock of a worker, ms.'),
  policyOptions: z
    .record(z.string(), z.union([z.number(), z.string()]).optional())
    .describe('Options of the policy, defaults included; durations in ns.'),
});

export const setupSchema = z
  .object({
    firstUsers: z.array(count()).describe('First user id of each workload section, ascending from 0.'),
    ...optional(clusterSetupSchema.shape),
  })
  .describe('Facts that check needs in addition to the logs.');

/** The given fields, each optional. */
export function optional<Shape extends Readonly<Record<string, z.ZodType>>>(shape: Shape) {
  const fields = Object.entries(shape).map(([key, field]) => [key, field.exactOptional()]);
  return Object.fromEntries(fields) as { [K in keyof Shape]: z.ZodExactOptional<Shape[K]> };
}
