import * as z from 'zod';
import { ADMISSIONS } from '../core/controller.js';
import { duration, refuse, section, textField } from './fields.js';
import { clusterSchema } from './schema-cluster.js';
import { liveSchema } from './schema-live.js';
import { modelsSchema } from './schema-models.js';
import { policySchema } from './schema-policy.js';
import { runtimeSchema } from './schema-runtime.js';
import { sweepSchema } from './schema-sweep.js';
import { workloadsSchema } from './schema-workload.js';
import { parseDuration, show } from './units-text.js';

const output = section({
  requestLog: z.boolean().default(true).describe('Write requests.tsv with --out.'),
  actionLog: z.boolean().default(true).describe('Write actions.tsv with --out.'),
  timeline: textField(
    { anyOf: [{ type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 2 }, { const: false }] },
    'Slice of the run that timeline.json and the GPU chart show, [from, to]; false: none.',
    readSlice,
  ).prefault(['1s', '2s']),
});

/** The whole experiment file. Every key, its default and what it is for. */
export const experimentSchema = section({
  name: z.string().min(1).exactOptional().describe('Title of reports; the name of the file when absent.'),
  seed: z.int().min(0).default(1).describe('Every random draw follows from it.'),
  cluster: clusterSchema.prefault({}).describe('The machines.'),
  models: modelsSchema,
  workload: workloadsSchema,
  slo: duration(
    'Latency objective of requests that have none of their own. Replaces the column of an arrivals file.',
    1,
  ).prefault('100ms'),
  policy: policySchema,
  admission: z
    .enum(ADMISSIONS)
    .default('none')
    .describe('predict: a request is refused at once when its predicted latency exceeds its objective.'),
  warmup: duration('Requests that arrive before this are served and not counted.').prefault('0s'),
  checks: z
    .boolean()
    .default(false)
    .describe("Check the simulator's invariants after every instant: slow, for debugging."),
  output: output.prefault({}).describe('What is written besides the summary.'),
  live: liveSchema
    .prefault({})
    .describe('How the experiment runs on real time and real models; simulations do without.'),
  runtime: runtimeSchema.describe('How models are executed live, see `escapement config`.'),
  sweep: sweepSchema.exactOptional().describe('What `sweep` varies when no --vary is given.'),
});

function readSlice(value: unknown): readonly [number, number] | null {
  if (value === false) return null;
  if (!Array.isArray(value) || value.length !== 2)
    return refuse(`must be [from, to] such as [1s, 2s], or false, found ${show(value)}`);
  const [from, to] = value.map(parseDuration) as [number, number];
  return from < to ? [from, to] : refuse(`must end after it begins, found ${show(value)}`);
}
