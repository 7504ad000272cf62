import type * as z from 'zod';
import { type ErrorPlace, EscapementError } from '../base/errors.js';
import { suggestion } from '../base/nearest.js';
import { cheapestNs } from '../bounds/costs.js';
import { kindPrices, rateAt } from '../bounds/kind-prices.js';
import type { GpuKind } from '../core/cluster-spec.js';
import { type ModelSpec, mayBeOn } from '../core/model.js';
import { longestOf } from '../workload/lengths.js';
import { offeredMix, type SteadySpec } from '../workload/offered-mix.js';
import { multiplied } from '../workload/open.js';
import { selectModels } from '../workload/select-models.js';
import type { LengthSpec, WorkloadSpec } from '../workload/spec.js';
import { type ExperimentHost, relativeTo } from './experiment-host.js';
import { refuse } from './fields.js';
import { streamsOf } from './open-workloads.js';
import type { OverriddenTree } from './overrides.js';
import { type PipelineConfig, targetNames } from './pipelines.js';
import type { experimentSchema } from './schema.js';
import { formatDuration } from './units-text.js';

type Config = z.output<typeof experimentSchema>;

/** Facts about the experiment needed by its sections. */
interface WorkloadsContext {
  readonly config: Config;
  readonly models: readonly ModelSpec[];
  readonly pipelines: readonly PipelineConfig[];
  /** The experiment file: paths are relative to its folder. */
  readonly file: string;
  readonly host: ExperimentHost;
  readonly overridden: OverriddenTree;
}

/**
 * Completes each section: with its pipelines, the location of its file, whether its SLO is given, the rate or scale for
 * its load, and the factors of `traffic` applied. Throws `E_UNKNOWN_MODEL`, `E_FILE_MISSING`, `E_CONFIG_VALUE` for a
 * section that contradicts the rest of the experiment, or a load of which GPUs can serve nothing, and errors of traces.
 */
export async function finishWorkloads(context: WorkloadsContext): Promise<WorkloadSpec[]> {
  const { traffic, workload } = context.config;
  const sections = workload.map((section, index) => withTargets(section, index, context));
  const boost = boostOf(context);
  return Promise.all(
    sections.map(async (section, index) => {
      const placed = await withPath(section, index, context);
      const spec = await withVolume(placed, (unit) => capacityIn(unit, index, context));
      return { ...multiplied(spec, traffic.factor), ...boost };
    }),
  );
}

/** Factors for single models. Throws `E_UNKNOWN_MODEL`, and `E_CONFIG_VALUE` if clients decide what comes. */
function boostOf({ config, models, pipelines, overridden }: WorkloadsContext): Pick<WorkloadSpec, 'boost'> {
  const boost = config.traffic.models;
  const patterns = Object.keys(boost);
  if (patterns.length === 0) return {};
  const place = overridden.placeOf(['traffic', 'models']);
  if (config.workload.some(({ kind }) => kind === 'closed-loop'))
    refuse('closed-loop clients send a request after each answer: give more clients instead', place);
  selectModels(targetNames(models, pipelines), patterns, place);
  return { boost };
}

type Section = Config['workload'][number];

/**
 * A section that by default goes to the pipelines, if there are any, with their SLO. Throws `E_UNKNOWN_MODEL`, and
 * `E_CONFIG_VALUE` for an unknown class or tenant, lengths that do not fit, and SLOs that differ.
 */
function withTargets(
  section: Section,
  index: number,
  { config, models, pipelines, overridden }: WorkloadsContext,
): Section {
  const placeOf = (...path: string[]) => overridden.placeOf(['workload', index, ...path]);
  const names = targetNames(models, pipelines);
  const declared = { class: config.classes ?? [], tenant: config.tenants?.list ?? [] };
  const written = selectModels(names, section.models, placeOf('models'));
  checkLengths(section.length, written, models, pipelines, placeOf('length'));
  for (const sender of ['class', 'tenant'] as const) {
    const known = declared[sender].map(({ name }) => name);
    const name = section[sender];
    if (name === undefined || known.includes(name)) continue;
    const among = sender === 'class' ? 'classes' : 'tenants';
    const hint = known.length === 0 ? `declare it in ${among}` : suggestion(name, known);
    refuse(`unknown ${sender} "${name}": ${hint}`, placeOf(sender));
  }
  if (pipelines.length === 0) return section;
  const to = { ...section, models: section.models ?? pipelines.map(({ name }) => name) };
  const slosNs = Array.from(
    selectModels(names, to.models),
    (target) => pipelines[target - models.length]?.sloNs,
  );
  const [sloNs = null, ...others] = new Set(slosNs.map((ns) => ns ?? null));
  if (section.sloNs !== undefined) return to;
  if (others.length > 0)
    refuse('its models and pipelines have different SLOs: give it one, or a section each', placeOf());
  return sloNs === null ? to : { ...to, sloNs };
}

/** A section whose path, if any, is relative to the working directory. */
type Placed = Exclude<Section, { kind: 'arrivals' }> | Extract<WorkloadSpec, { kind: 'arrivals' }>;

async function withPath(section: Section, index: number, context: WorkloadsContext): Promise<Placed> {
  if (!('path' in section)) return section;
  const { tree, placeOf } = context.overridden;
  const path = await locate(relativeTo(context.file, section.path), context.host).catch((error) => {
    if (!(error instanceof EscapementError)) throw error;
    const what = `${error.place.file}: ${error.what}`;
    throw new EscapementError(error.code, what, placeOf(['workload', index, 'path']));
  });
  if (section.kind !== 'arrivals') return { ...section, path };
  return { ...section, path, overrideSlo: tree.slo !== undefined || section.sloNs !== undefined };
}

/** File to open. Throws `E_FILE_MISSING`. */
async function locate(path: string, host: ExperimentHost): Promise<string> {
  const located = host.locate(path);
  await host.input.stat(located);
  return located;
}

/** Replaces `load` by a rate or a scale; `capacityIn` returns the amount of a unit workload that makes a load of 1. */
async function withVolume(
  section: Placed,
  capacityIn: (unit: SteadySpec) => Promise<number>,
): Promise<WorkloadSpec> {
  switch (section.kind) {
    case 'poisson':
    case 'fixed':
    case 'gamma': {
      const { load, rateRps, ...rest } = section;
      // The schema ensures that one of them is present.
      if (load === undefined) return { ...rest, rateRps: rateRps as number };
      return { ...rest, rateRps: load * (await capacityIn({ ...rest, rateRps: 1 })) };
    }
    case 'azure-2019':
    case 'azure-2021':
    case 'azure-llm':
    case 'azure-like': {
      const { load, scale = 1, ...rest } = section;
      if (load === undefined) return { ...rest, scale };
      return { ...rest, scale: load * (await capacityIn({ ...rest, scale: 1 })) };
    }
    default:
      return section;
  }
}

async function capacityIn(
  unit: SteadySpec,
  index: number,
  { config, models, pipelines, host, overridden }: WorkloadsContext,
): Promise<number> {
  const { slo, seed, cluster, policy } = config;
  const names = targetNames(models, pipelines);
  const sloNs = unit.sloNs ?? slo;
  const placeOf = (key: string) => overridden.placeOf(['workload', index, key]);
  const context = { models: names, sloNs, seed, files: host.input, placeOf };
  const offered = await offeredMix(unit, context, streamsOf(index));
  const mix = offered.slice(0, models.length);
  for (const [p, { steps }] of pipelines.entries())
    for (const { model, mean } of steps) mix[model]! += offered[models.length + p]! * mean;
  const varied = models.find((model, m) => mix[m]! > 0 && model.lengths !== undefined);
  if (varied !== undefined)
    refuse(
      `${varied.name} takes inputs of several lengths, so there is no one capacity to take a share of: give a rate or scale`,
      overridden.placeOf(['workload', index, 'load']),
    );
  const { maxBatch } = policy.options;
  const capacityRps = fluidCapacityRps({
    models,
    mix,
    sloNs,
    kinds: cluster.kinds,
    maxBatch: typeof maxBatch === 'number' ? maxBatch : DEFAULT_MAX_BATCH,
  });
  const unitRps = mix.reduce((sum, rate) => sum + rate, 0);
  if (capacityRps > 0 && unitRps > 0) return capacityRps / unitRps;
  refuse(
    unitRps > 0
      ? `no batch of any of its models ends within ${formatDuration(sloNs)}, so there is no capacity to take a share of`
      : 'nothing arrives, so there is no load to scale',
    overridden.placeOf(['workload', index, 'load']),
  );
}

/** Largest batch that counts if the policy names none: the default of the policies that batch. */
const DEFAULT_MAX_BATCH = 8;

interface CapacityQuestion {
  readonly models: readonly ModelSpec[];
  readonly kinds: readonly GpuKind[];
  readonly sloNs: number;
  readonly maxBatch: number;
  /** Share of the requests of each model, in any unit: only proportions count. */
  readonly mix: ArrayLike<number>;
}

/**
 * Capacity of which `load` is a share, requests per second: the rate at which requests in the given proportions keep
 * all GPUs busy if every batch is full and of its model's cheapest size, that is
 *
 *   gpus / Σ share(m) · min e(m, b) / b   over batch sizes b ≤ maxBatch with e(m, b) ≤ SLO.
 *
 * With several kinds of GPUs, each kind gets the models at which it is comparatively best (`kindPrices`), and none that
 * it lacks or that exceed its memory. Weights are assumed to be where they are needed. Requests for a model that is slower than the SLO
 * even alone cost nothing, because none can be served. 0 if no model can be served.
 */
export function fluidCapacityRps({ models, kinds, sloNs, maxBatch, mix }: CapacityQuestion): number {
  const question = {
    gpus: kinds.map(({ gpus }) => gpus),
    costNs: kinds.map(({ pages }, kind) =>
      Float64Array.from(models, (model) =>
        mayBeOn(model, kind, pages) ? cheapestNs(model, kind, maxBatch, sloNs) : Number.POSITIVE_INFINITY,
      ),
    ),
    mix,
  };
  const rateRps = rateAt(kindPrices(question), question);
  return rateRps === Number.POSITIVE_INFINITY ? 0 : rateRps;
}

/**
 * Throws `E_CONFIG_VALUE` if a section of the workload sets input lengths, and none of its models takes several
 * lengths, or one ends before the longest; and if it sets none where a pipeline has as many requests.
 */
function checkLengths(
  length: LengthSpec | undefined,
  written: Int32Array,
  models: readonly ModelSpec[],
  pipelines: readonly PipelineConfig[],
  place: ErrorPlace,
): void {
  const targets = [...written];
  const drawn = targets
    .map((index) => pipelines[index - models.length])
    .find((pipeline) => pipeline?.steps.some(({ fanOut }) => fanOut.kind === 'length'));
  if (length === undefined) {
    if (drawn === undefined) return;
    refuse(`a step of ${drawn.name} has as many requests as this says: give it, or another fanOut`, place);
  }
  const varied = targets.flatMap((index) => {
    const { name, lengths } = models[index] ?? {};
    return name === undefined || lengths === undefined ? [] : [{ name, end: lengths.at(-1)! }];
  });
  if (varied.length === 0 && drawn === undefined) {
    const what =
      'no model of this workload takes inputs of several lengths: leave it out, or give a profile with shorter ones';
    refuse(what, place);
  }
  const longest = longestOf(length);
  const tooShort = longest === Number.POSITIVE_INFINITY ? undefined : varied.find(({ end }) => end < longest);
  if (tooShort === undefined) return;
  const what = `inputs as long as ${longest} are more than ${tooShort.name} takes: its profile ends at ${tooShort.end}`;
  refuse(what, place);
}
