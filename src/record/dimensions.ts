import type { RequestClass } from '../core/classes.js';
import { bucketOf } from '../core/lengths.js';
import type { ModelSpec } from '../core/model.js';
import type { PipelineSpec } from '../core/pipelines.js';
import { partsOf, type Tenant } from '../core/tenants.js';

/** Dimensions by which requests are counted, in the order of tables: names of one part and of several, for people. */
export const DIMENSIONS = {
  group: { label: 'group', plural: 'groups' },
  class: { label: 'class', plural: 'classes' },
  tenant: { label: 'tenant', plural: 'tenants' },
  length: { label: 'length of input', plural: 'lengths' },
  pipeline: { label: 'pipeline', plural: 'pipelines' },
  step: { label: 'pipeline step', plural: 'pipeline steps' },
  kind: { label: 'kind of GPU', plural: 'kinds of GPUs' },
  model: { label: 'model', plural: 'models' },
} as const;
export type Dimension = keyof typeof DIMENSIONS;

/** Facts about a run by which its requests are divided. */
interface Divided {
  /** Sections of the workload, and the first user id of each, ascending from 0; absent: not known. */
  readonly sections?: readonly string[];
  readonly sectionStarts?: ArrayLike<number>;
  readonly classes: readonly RequestClass[];
  readonly tenants: readonly Pick<Tenant, 'name' | 'share'>[];
  readonly models: readonly ModelSpec[];
  readonly pipelines?: readonly PipelineSpec[];
  /** Kinds of GPUs, and that of each GPU. */
  readonly kinds: readonly string[];
  readonly kindOf?: ArrayLike<number>;
}

/** Requests as far as they depend on their senders, as in `RequestTable`; without `step`, none is of a pipeline. */
type SentRequests = Readonly<
  Record<'user' | 'model' | 'requestClass' | 'tenant' | 'length', ArrayLike<number>> & {
    step?: ArrayLike<number>;
  }
>;

/** Dimensions by which requests of pipeline steps count; by all others, only the requests of the pipelines do. */
export const BY_STEP: readonly Dimension[] = ['length', 'step', 'kind', 'model'];

/** Part to which a request belongs, for GPU time also of a pipeline step's; −1: none. `gpu`: of its last INFER; −1: none. */
export type PartOf = (requests: SentRequests, slot: number, gpu: number) => number;

/** Parts of each dimension of a run, in order, and how a request finds its own. */
export function dimensionsOf({
  sections = [],
  sectionStarts = [],
  classes,
  tenants,
  models,
  pipelines = [],
  kinds,
  kindOf = [],
}: Divided) {
  const shares = partsOf(tenants);
  const pipelineOf = pipelines.flatMap(({ steps }, pipeline) => steps.map(() => pipeline));
  const lengths = [...new Set(models.flatMap((model) => model.lengths ?? []))].sort((a, b) => a - b);
  return {
    group: {
      parts: sections.map((key) => ({ key })),
      partOf: ({ user }: SentRequests, slot: number) => sectionOf(sectionStarts, user[slot]),
    },
    class: {
      parts: classes.map(({ name: key, weight, share }) => ({ key, weight, share })),
      partOf: ({ requestClass }: SentRequests, slot: number) => requestClass[slot],
    },
    tenant: {
      parts: tenants.map(({ name: key }, i) => ({ key, share: shares[i] })),
      partOf: ({ tenant }: SentRequests, slot: number) => tenant[slot],
    },
    length: {
      parts: lengths.map((length) => ({ key: String(length) })),
      partOf: lengthPart(models, lengths),
    },
    pipeline: {
      parts: pipelines.map(({ name: key }) => ({ key })),
      partOf: ({ model, step }: SentRequests, slot: number) =>
        step !== undefined && step[slot] > 0 ? pipelineOf[step[slot] - 1] : model[slot] - models.length,
    },
    step: {
      parts: pipelines.flatMap(({ name, steps }) => steps.map(({ id }) => ({ key: `${name}.${id}` }))),
      partOf: ({ step }: SentRequests, slot: number) => (step?.[slot] ?? 0) - 1,
    },
    kind: {
      parts: kinds.map((key) => ({ key })),
      partOf: (_requests: SentRequests, _slot: number, gpu: number) => (gpu < 0 ? -1 : kindOf[gpu]),
    },
    model: {
      parts: models.map(({ name: key }, id) => ({ key, id })),
      partOf: ({ model }: SentRequests, slot: number) => (model[slot] < models.length ? model[slot] : -1),
    },
  } satisfies Record<Dimension, { readonly parts: readonly { readonly key: string }[]; partOf: PartOf }>;
}

/** Sections are few: scanning from the last is as fast as a search. */
function sectionOf(starts: ArrayLike<number>, user: number): number {
  let section = starts.length - 1;
  while (section > 0 && user < starts[section]) section--;
  return section;
}

/** Part of a request by the smallest length that fits its input, whatever the policy knows of it. */
function lengthPart(models: readonly ModelSpec[], lengths: readonly number[]): PartOf {
  const rows = models.map((model) => (model.lengths ?? []).map((length) => lengths.indexOf(length)));
  return ({ model, length }, slot) => {
    const row = rows[model[slot]] ?? [];
    return row.length === 0 ? -1 : row[bucketOf(models[model[slot]], length[slot])];
  };
}
