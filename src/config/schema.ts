import * as z from 'zod';
import { ADMISSIONS } from '../core/admission.js';
import { PADDINGS } from '../core/lengths.js';
import { MISSED_WINDOWS } from '../core/retry.js';
import type { Plugin } from '../policies/entry.js';
import type { TimelineSlice } from '../record/timeline.js';
import { choice, count, duration, flag, refuse, section, text, textField, whole } from './fields.js';
import { pipelinesSchema } from './pipelines.js';
import { clusterSchema } from './schema-cluster.js';
import { modelsSchema } from './schema-models.js';
import { policySchemaWith, scalerSchema } from './schema-policy.js';
import { liveSchema, runtimeSchema } from './schema-runtime.js';
import { classesSchema, tenantsSchema } from './schema-senders.js';
import { workloadsSchema } from './schema-workload.js';
import { scenariosSchema, sweepSchema } from './sweep-section.js';
import { parseDuration, show } from './units-text.js';

const traffic = section({
  factor: count('Multiplies the requests of every section of the workload, or its clients.', 1e6).prefault(1),
  models: z
    .record(z.string().min(1), count('Factor of one model.', 1e6))
    .prefault({})
    .describe(
      'Also multiplies the requests of single models, e.g. { resnet50: 5 }; * in a name matches any text. Added requests come at random times, in proportion to the rate of the model at that time.',
    ),
});

/** Files written with --out. */
export const outputSchema = section({
  requestLog: flag('Write requests.tsv with --out.').default(true),
  actionLog: flag('Write actions.tsv with --out.').default(true),
  parquet: flag('Also write the logs as Parquet.').default(false),
  timeline: textField(
    {
      anyOf: [
        { const: 'worst' },
        { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 2 },
        { const: false },
      ],
    },
    'Slice of the run in timeline.json and the GPU chart. worst: the second with the most misses; [from, to]; false: none.',
    readSlice,
  ).prefault('worst'),
});

/** The whole experiment file: every key, with its default and purpose. */
export const experimentSchema = section({
  name: text('Title of reports; default: the name of the file.').exactOptional(),
  assumed: z
    .array(z.string())
    .prefault([])
    .describe('Assumptions behind the file, for the page of a plan; init writes those of the imports.'),
  seed: whole('Seed of every random draw.', 0).default(1),
  cluster: clusterSchema.prefault({}).describe('The machines.'),
  models: modelsSchema,
  pipelines: pipelinesSchema,
  classes: classesSchema,
  tenants: tenantsSchema,
  workload: workloadsSchema,
  traffic: traffic.prefault({}).describe('Factors on the requests of `workload`.'),
  slo: duration(
    'SLO of requests without one of their own. Replaces the slo_ns column of an arrivals file.',
    1,
  ).prefault('100ms'),
  plugins: z
    .array(z.string().min(1))
    .default([])
    .describe('Modules with further policies, relative to this file; --plugin adds to them.'),
  policy: policySchemaWith([]),
  scaler: scalerSchema,
  admission: choice(
    'predict: refuses a request on arrival if, behind booked work and the queue of its model, it cannot be answered in time; none: accepts every request. Policies may refuse requests, too.',
    ADMISSIONS,
  ).default('predict'),
  padding: choice(
    'How inputs of different lengths share a batch. bucket: the policy knows lengths and batches similar ones, padded to the longest of the batch; batch: the same, but the policy does not know lengths; longest: every input is padded to the longest of the profile. Default: bucket for policies that batch by length, batch for the others.',
    PADDINGS,
  ).exactOptional(),
  missedWindow: choice(
    'Fate of requests whose INFER missed its window. retry: they are queued again while their SLO allows, and windows grow by what was missed; fail: they end as error. Default: retry with run and serve, otherwise as the policy does.',
    MISSED_WINDOWS,
  ).exactOptional(),
  warmup: duration('Requests that arrive before this are served but not counted.').prefault('0s'),
  checks: flag("Check the simulator's invariants after every instant: slow, for debugging.").default(false),
  output: outputSchema.prefault({}).describe('Files written in addition to the summary.'),
  live: liveSchema.prefault({}).describe('How the experiment runs live; simulations ignore it.'),
  runtime: runtimeSchema.describe('How models are executed live, see `escapement config`.'),
  scenarios: scenariosSchema.describe('Further what-ifs for `scenarios` and `plan --html`.'),
  sweep: sweepSchema.describe('What `sweep` varies when no --vary is given.'),
});

/** The schema with the policies of plugins. */
export function experimentSchemaWith(plugins: readonly Plugin[]): typeof experimentSchema {
  return plugins.length === 0
    ? experimentSchema
    : experimentSchema.extend({ policy: policySchemaWith(plugins) });
}

/** Null: no slice. */
function readSlice(value: unknown): TimelineSlice | null {
  if (value === false) return null;
  if (value === 'worst') return value;
  if (!Array.isArray(value) || value.length !== 2)
    return refuse(`must be worst, [from, to] such as [1s, 2s], or false, found ${show(value)}`);
  const [from, to] = value.map(parseDuration) as [number, number];
  return from < to ? [from, to] : refuse(`must end after it begins, found ${show(value)}`);
}
