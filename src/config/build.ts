import { basename, extname } from 'pathe';
import { type ErrorPlace, EscapementError } from '../base/errors.js';
import { suggestion } from '../base/nearest.js';
import type { ModelSpec } from '../core/model.js';
import type { PolicyEntry } from '../policies/entry.js';
import { paddingOf } from './create-policy.js';
import { isSection, readDocument, type SourceDocument } from './document.js';
import type { Experiment } from './experiment.js';
import type { ExperimentHost } from './experiment-host.js';
import { refuse } from './fields.js';
import { finishWorkloads } from './finish-workloads.js';
import { keyExists, keyValue } from './keys.js';
import { buildModels } from './models.js';
import { applyOverrides, type OverriddenTree } from './overrides.js';
import { buildPipelines } from './pipelines.js';
import { libraryPlugin, loadPlugins, type Plugin } from './plugins.js';
import type { EnvironmentOverride } from './runtime-settings.js';
import { scaledCluster } from './scaled-cluster.js';
import { experimentSchemaWith } from './schema.js';
import { NO_TENANTS } from './schema-senders.js';
import type { CaseAxis } from './sweep-section.js';
import { validate } from './validate.js';

/**
 * Parses a text into plain values with line numbers, not validated; `file` is for messages. Throws `E_CONFIG_SYNTAX`.
 */
export function parseExperimentSource(text: string, file: string): SourceDocument {
  return readDocument(text, file, 'E_CONFIG_SYNTAX');
}

interface BuildOptions {
  /** Values that override those of the file, such as `policy.maxBatch=4`. */
  readonly overrides?: readonly string[];
  /** Values of `runtime` from the environment. */
  readonly environment?: readonly EnvironmentOverride[];
  /** Policies in addition to the built-in ones and those of the file's plugins. */
  readonly policies?: readonly PolicyEntry[];
  /** Host on which it is read. */
  readonly host: ExperimentHost;
}

/** Experiment of a file that was already read. Throws an EscapementError with the place of the first mistake. */
export async function buildExperiment(
  source: SourceDocument,
  { overrides = [], environment = [], policies = [], host }: BuildOptions,
): Promise<Experiment> {
  const { file } = source;
  const loaded = await loadPlugins(source, overrides, host);
  const plugins = policies.length === 0 ? loaded : [...loaded, libraryPlugin(policies, loaded)];
  const overridden = applyOverrides(source, overrides, environment, plugins);
  const { tree, placeOf } = overridden;
  const config = validate(experimentSchemaWith(plugins), tree, placeOf);
  checkSlo(overridden);
  checkCases(config.sweep?.cases ?? [], overridden, plugins);
  const cluster = scaledCluster(config, (key) => placeOf(key));
  const { device = config.models.some(({ kind }) => kind === 'onnx') ? 'cpu' : 'simulated', ...live } =
    config.live;
  const warnings = new Set<string>();
  const models = await buildModels(config.models, {
    ...{ file, host, cluster },
    warn: (text) => warnings.add(text),
    device: { kind: device === 'simulated' ? 'cpu' : device, adapter: 0, session: config.runtime },
    precision: config.runtime.precision,
    placeOf: (index, key) => placeOf(['models', index, ...(key === undefined ? [] : [key])]),
  });
  const specs = models.map(({ spec }) => spec);
  const { classes = [], tenants = NO_TENANTS } = config;
  const pipelines = buildPipelines(config.pipelines ?? [], specs, placeOf);
  const spreads = config.cluster.kinds.map((_, kind) => models.map((model) => model.spreads[kind] ?? null));
  checkNoise(config.cluster.noise, specs, spreads.flat(), placeOf);
  return {
    name: config.name ?? basename(file, extname(file)),
    file,
    source: {
      text: source.text,
      overrides: [...environment.map(({ key, value }) => `${key}=${value}`), ...overrides],
    },
    files: host.input,
    placeOf,
    writtenValue: (key) => keyValue(tree, key, plugins),
    seed: config.seed,
    cluster,
    models: specs,
    pipelines,
    modelFiles: models.map(({ file }) => file),
    warnings: [...warnings],
    assumed: config.assumed,
    spreads,
    classes,
    tenants,
    workloads: await finishWorkloads({
      config: { ...config, cluster },
      models: specs,
      ...{ pipelines, file, host, overridden },
    }),
    sloNs: config.slo,
    policy: config.policy,
    scaler: config.scaler,
    admission: config.admission,
    padding: paddingOf(config, placeOf(['padding'])),
    missedWindow: config.missedWindow ?? null,
    warmupNs: config.warmup,
    checks: config.checks,
    output: config.output,
    live: { device, ...live },
    runtime: config.runtime,
    ...{ sweep: config.sweep ?? null, scenarios: config.scenarios ?? [] },
  };
}

/** Throws `E_CONFIG_VALUE` for an override of `slo` that reaches no request: every section of the workload has its own. */
function checkSlo({ tree, originOf, placeOf }: OverriddenTree): void {
  const sections = [tree.workload].flat().filter(isSection);
  if (originOf(['slo'])?.kind !== 'flag' || sections.some(({ slo }) => slo === undefined)) return;
  const own = `workload${sections.length > 1 ? '.0' : ''}.slo`;
  refuse(`reaches no request: every section of workload has its own; override ${own}`, placeOf(['slo']));
}

/** Throws `E_CONFIG_VALUE` for an axis of cases that is named like a key. */
function checkCases(
  axes: readonly CaseAxis[],
  { tree, placeOf }: OverriddenTree,
  plugins: readonly Plugin[],
): void {
  for (const { key } of axes) {
    if (!keyExists(tree, key, plugins)) continue;
    refuse(`${key} is a key of the experiment: give the axis another name`, placeOf(['sweep', 'cases', key]));
  }
}

/** Throws `E_UNKNOWN_MODEL` for a factor of no model, and `E_CONFIG_VALUE` for spreads that no profile has. */
function checkNoise(
  { scale, distribution }: Experiment['cluster']['noise'],
  models: readonly ModelSpec[],
  spreads: readonly unknown[],
  placeOf: (path: string[]) => ErrorPlace,
): void {
  if (distribution === 'profile' && spreads.every((spread) => spread === null)) {
    const what =
      'no model of this run has a profile with more than medians: measure p99Ms and maxMs, or write normal';
    refuse(what, placeOf(['cluster', 'noise', 'distribution']));
  }
  const names = models.map(({ name }) => name);
  const unknown = Object.keys(scale).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const what = `there is no such model: ${suggestion(unknown, names)}`;
  throw new EscapementError('E_UNKNOWN_MODEL', what, placeOf(['cluster', 'noise', 'scale', unknown]));
}
