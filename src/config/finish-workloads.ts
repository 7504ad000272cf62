import type * as z from 'zod';
import { EscapementError } from '../base/errors.js';
import type { ModelSpec } from '../core/model.js';
import { offeredMix, type SteadySpec } from '../workload/offered-mix.js';
import type { WorkloadSpec } from '../workload/spec.js';
import { DEFAULT_MAX_BATCH, fluidCapacityRps } from './capacity.js';
import { type ExperimentHost, relativeTo } from './experiment-host.js';
import { streamsOf } from './open-workloads.js';
import type { OverriddenTree } from './overrides.js';
import type { experimentSchema } from './schema.js';
import { formatDuration } from './units-text.js';

type Config = z.output<typeof experimentSchema>;

/** What the sections need to know of the experiment around them. */
interface WorkloadsContext {
  readonly config: Config;
  readonly models: readonly ModelSpec[];
  /** The experiment file: paths are relative to its folder. */
  readonly file: string;
  readonly host: ExperimentHost;
  readonly overridden: OverriddenTree;
}

/**
 * Adds to each section what it cannot know by itself: where its file is, whether its SLO is given, and the
 * rate or scale that its load comes to. Throws `E_FILE_MISSING`, `E_CONFIG_VALUE` for a load that no GPU can serve
 * any of, and the errors of reading traces.
 */
export function finishWorkloads(context: WorkloadsContext): Promise<WorkloadSpec[]> {
  return Promise.all(
    context.config.workload.map(async (section, index) =>
      withVolume(await withPath(section, index, context), (unit) => capacityIn(unit, index, context)),
    ),
  );
}

type Section = Config['workload'][number];

/** A section whose path, if it has one, is seen from where the program runs. */
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

/** The file to open. Throws `E_FILE_MISSING`. */
async function locate(path: string, host: ExperimentHost): Promise<string> {
  const located = host.locate(path);
  await host.input.stat(located);
  return located;
}

/** Replaces `load` by a rate or a scale; `capacityIn` returns how much of a unit workload makes a load of 1. */
async function withVolume(
  section: Placed,
  capacityIn: (unit: SteadySpec) => Promise<number>,
): Promise<WorkloadSpec> {
  switch (section.kind) {
    case 'poisson':
    case 'fixed':
    case 'gamma': {
      const { load, rateRps, ...rest } = section;
      // The schema sees to it that one of both is there.
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
  { config, models, host, overridden }: WorkloadsContext,
): Promise<number> {
  const { slo, seed, cluster, policy } = config;
  const names = models.map(({ name }) => name);
  const sloNs = unit.sloNs ?? slo;
  const placeOf = (key: string) => overridden.placeOf(['workload', index, key]);
  const context = { models: names, sloNs, seed, files: host.input, placeOf };
  const mix = await offeredMix(unit, context, streamsOf(index));
  const varied = models.find((model, m) => mix[m]! > 0 && model.lengths !== undefined);
  if (varied !== undefined)
    throw new EscapementError(
      'E_CONFIG_VALUE',
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
  throw new EscapementError(
    'E_CONFIG_VALUE',
    unitRps > 0
      ? `no batch of any of its models ends within ${formatDuration(sloNs)}, so there is no capacity to take a share of`
      : 'nothing arrives, so there is no load to scale',
    overridden.placeOf(['workload', index, 'load']),
  );
}
