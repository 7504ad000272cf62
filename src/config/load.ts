import { basename, extname } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { type ErrorPlace, EscapementError } from '../base/errors.js';
import { STANDARD_INPUT } from '../base/files/standard-input.js';
import type { PolicyEntry } from '../policies/entry.js';
import { selectModels } from '../workload/select-models.js';
import { cellOf } from './cell.js';
import { readDocument, type SourceDocument } from './document.js';
import type { EnvironmentOverride } from './environment.js';
import type { Experiment } from './experiment.js';
import { type ExperimentFiles, ON_DISK } from './experiment-files.js';
import { readTextFile } from './files.js';
import { finishWorkloads } from './finish-workloads.js';
import { buildModels } from './models.js';
import { applyOverrides } from './overrides.js';
import { libraryPlugin, loadPlugins } from './plugins.js';
import { experimentSchemaWith } from './schema.js';
import { validate } from './validate.js';

/**
 * Reads an experiment file, applies overrides such as `policy.maxBatch=4` or `workload.0.rate=600/s`, checks
 * it and reads the models that it names. Paths, also those of overrides, are relative to the file. What the environment
 * says of `runtime` comes between the two; only what runs live asks it, so that a simulation is the same anywhere.
 * `policies` can be named in addition to the built-in ones and those of the file's plugins.
 * Throws an EscapementError with file, line and key (or the override) of the first mistake.
 *
 *     const experiment = await loadExperiment('experiments/azure.yaml', ['slo=50ms']);
 */
export async function loadExperiment(
  path: string,
  overrides: readonly string[] = [],
  policies: readonly PolicyEntry[] = [],
  environment: readonly EnvironmentOverride[] = [],
): Promise<Experiment> {
  return buildExperiment(await readExperimentSource(path), overrides, environment, policies);
}

/** The same from a text; `file` is for messages, paths and the default name, `files` where the others are. */
export async function parseExperiment(
  text: string,
  file: string,
  overrides: readonly string[] = [],
  policies: readonly PolicyEntry[] = [],
  files: ExperimentFiles = ON_DISK,
): Promise<Experiment> {
  return buildExperiment(parseExperimentSource(text, file), overrides, [], policies, files);
}

/**
 * The file as plain values with its text and lines, not validated yet; of `STANDARD_INPUT` what is
 * piped in, with paths relative to the working directory. Throws `E_FILE_MISSING`, `E_CONFIG_SYNTAX`.
 */
export async function readExperimentSource(path: string): Promise<SourceDocument> {
  if (path === STANDARD_INPUT) {
    // Some commands read their experiment twice.
    standardInput ??= readText(process.stdin);
    return parseExperimentSource(await standardInput, 'standard input');
  }
  return parseExperimentSource(await readTextFile(path), path);
}

let standardInput: Promise<string> | undefined;

export function parseExperimentSource(text: string, file: string): SourceDocument {
  return readDocument(text, file, 'E_CONFIG_SYNTAX');
}

/** The experiment of a file that was read before, with overrides. */
export async function buildExperiment(
  source: SourceDocument,
  overrides: readonly string[],
  environment: readonly EnvironmentOverride[] = [],
  policies: readonly PolicyEntry[] = [],
  files: ExperimentFiles = ON_DISK,
): Promise<Experiment> {
  const { file } = source;
  const loaded = await loadPlugins(source, overrides, files);
  const plugins = policies.length === 0 ? loaded : [...loaded, libraryPlugin(policies, loaded)];
  const overridden = applyOverrides(source, overrides, environment, plugins);
  const { tree, placeOf } = overridden;
  const config = validate(experimentSchemaWith(plugins), tree, placeOf);
  const { device = config.models.some(({ kind }) => kind === 'onnx') ? 'cpu' : 'simulated', ...live } =
    config.live;
  const models = await buildModels(config.models, {
    ...{ file, files },
    cluster: config.cluster,
    device: {
      kind: device === 'simulated' ? 'cpu' : device,
      adapter: 0,
      session: config.runtime,
    },
    precision: config.runtime.precision,
    placeOf: (index, key) => placeOf(['models', index, ...(key === undefined ? [] : [key])]),
  });
  const names = models.map(({ spec }) => spec.name);
  config.workload.forEach((workload, i) => {
    checkSelection(names, workload.models, placeOf(['workload', i, 'models']));
  });
  const spreads = models.map(({ spread }) => spread);
  if (config.cluster.noise.distribution === 'profile' && spreads.every((spread) => spread === null)) {
    throw new EscapementError(
      'E_CONFIG_VALUE',
      'no model of this run has a profile with more than medians: measure p99Ms and maxMs, or write normal',
      placeOf(['cluster', 'noise', 'distribution']),
    );
  }
  const whole: Experiment = {
    name: config.name ?? basename(file, extname(file)),
    file,
    source: {
      text: source.text,
      overrides: [...environment.map(({ key, value }) => `${key}=${value}`), ...overrides],
    },
    seed: config.seed,
    cluster: config.cluster,
    models: models.map(({ spec }) => spec),
    modelFiles: models.map(({ file }) => file),
    spreads,
    workloads: await finishWorkloads({
      ...{ config, models: models.map(({ spec }) => spec), file, files, overridden },
    }),
    sloNs: config.slo,
    policy: config.policy,
    admission: config.admission,
    missedWindow: config.missedWindow ?? null,
    warmupNs: config.warmup,
    checks: config.checks,
    output: config.output,
    live: { device, ...live },
    runtime: config.runtime,
  };
  return config.cell === undefined ? whole : cellOf(whole, config.cell, (key) => placeOf(['cell', key]));
}

/** Throws `E_UNKNOWN_MODEL` where a pattern matches no model, so that the file and line are named. */
function checkSelection(
  names: readonly string[],
  patterns: readonly string[] | undefined,
  place: ErrorPlace,
): void {
  try {
    selectModels(names, patterns);
  } catch (error) {
    if (!(error instanceof EscapementError)) throw error;
    throw new EscapementError(error.code, error.what, place);
  }
}
