import { buildExperiment, parseExperimentSource } from '../config/build.js';
import type { Experiment } from '../config/experiment.js';
import type { PolicyEntry } from '../policies/entry.js';
import { GivenFiles, type PageFiles } from './given-files.js';

export interface ParseOptions {
  /** Overrides of values in the text, such as `policy.scheduleAhead=5ms`. */
  readonly overrides?: readonly string[];
  /** Profiles, lists of models and traces, by the paths that the experiment names. */
  readonly files?: PageFiles;
  /** Policies in addition to the built-in ones. */
  readonly policies?: readonly PolicyEntry[];
  /** Name of the text in messages. Default: experiment.yaml. */
  readonly file?: string;
}

/**
 * Parses a YAML (or JSON) experiment like `parseExperiment` of `escapement`, with files held by the page. Rejects with
 * an EscapementError that has line and key of the first mistake.
 *
 * @example
 * const text = 'models: { kind: zoo, varieties: 3 }\nworkload: { kind: poisson, rate: 300/s, duration: 10s }';
 * const experiment = await parseExperiment(text, { overrides: ['slo=50ms'] });
 */
export async function parseExperiment(text: string, options: ParseOptions = {}): Promise<Experiment> {
  const { overrides = [], files = {}, policies = [], file = 'experiment.yaml' } = options;
  const source = parseExperimentSource(text, file);
  return buildExperiment(source, { overrides, policies, host: new GivenFiles(files) });
}
