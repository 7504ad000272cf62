import * as z from 'zod';
import { PADDINGS } from '../core/lengths.js';
import { amount, count, list, share, text } from './schema-figure.js';

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
