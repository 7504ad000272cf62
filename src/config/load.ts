import { text as readText } from 'node:stream/consumers';
import { DISK_FILES } from '../base/files/disk-files.js';
import { STANDARD_INPUT } from '../base/files/standard-input.js';
import type { PolicyEntry } from '../policies/entry.js';
import { buildExperiment, parseExperimentSource } from './build.js';
import type { SourceDocument } from './document.js';
import type { Experiment } from './experiment.js';
import type { ExperimentHost } from './experiment-host.js';
import { ON_DISK } from './files-on-disk.js';
import type { EnvironmentOverride } from './runtime-settings.js';

/**
 * Reads an experiment file, applies overrides such as `policy.maxBatch=4` or `workload.0.rate=600/s`, checks it and
 * reads the models that it names. Paths, including those of overrides, are relative to the file. The environment's
 * values of `runtime` come between the two; only live runs use them, so that a simulation is the same anywhere.
 * `policies` are added to the built-in ones and those of the file's plugins. Throws an EscapementError with file, line
 * and key (or the override) of the first mistake.
 *
 *     const experiment = await loadExperiment('experiments/azure.yaml', ['slo=50ms']);
 */
export async function loadExperiment(
  path: string,
  overrides: readonly string[] = [],
  policies: readonly PolicyEntry[] = [],
  environment: readonly EnvironmentOverride[] = [],
): Promise<Experiment> {
  return buildExperiment(await readExperimentSource(path), {
    overrides,
    environment,
    policies,
    host: ON_DISK,
  });
}

/** Parses an experiment from a text; `file` is for messages, paths and the default name, `host` is where it is read. */
export async function parseExperiment(
  text: string,
  file: string,
  overrides: readonly string[] = [],
  policies: readonly PolicyEntry[] = [],
  host: ExperimentHost = ON_DISK,
): Promise<Experiment> {
  return buildExperiment(parseExperimentSource(text, file), { overrides, policies, host });
}

/**
 * The file as plain values with its text and lines, not validated yet; `STANDARD_INPUT` reads stdin, with paths
 * relative to the working directory. Throws `E_FILE_MISSING`, `E_CONFIG_SYNTAX`.
 */
export async function readExperimentSource(path: string): Promise<SourceDocument> {
  if (path === STANDARD_INPUT) {
    // Some commands read their experiment twice.
    standardInput ??= readText(process.stdin);
    return parseExperimentSource(await standardInput, 'standard input');
  }
  return parseExperimentSource(await DISK_FILES.text(path), path);
}

let standardInput: Promise<string> | undefined;
