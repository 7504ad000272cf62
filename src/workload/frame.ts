import type { ErrorPlace } from '../base/errors.js';
import type { Random } from '../base/random/streams.js';
import { stream } from '../base/random/streams.js';
import type { InputFiles } from '../base/world/input-files.js';
import { selectModels } from './select-models.js';
import type { CommonSpec } from './spec.js';

/** Properties of the run that a workload depends on. */
export interface WorkloadContext {
  /** Names of the run's models in index order. */
  readonly models: readonly string[];
  /** By model: longest input that it takes; Infinity: all have one length, the default. */
  readonly longest?: readonly number[];
  /** SLO of requests without one of their own, ns. */
  readonly sloNs: number;
  readonly seed: number | string;
  /** Place of a key of the workload, for errors. Default: the key, after the name of its random streams. */
  readonly placeOf?: (key: string) => ErrorPlace;
}

/** The context, and access to files. */
export interface OpenContext extends WorkloadContext {
  readonly files: InputFiles;
}

/** Part of a workload common to all kinds: its models, times, SLO and random draws. */
export interface Frame {
  /** Indices (among the models of the run) of the models that it addresses, ascending. */
  readonly models: Int32Array;
  /** Names of those models. */
  readonly modelNames: readonly string[];
  /** Longest input of each of those models; Infinity: all have one length. */
  readonly longest: readonly number[];
  readonly sloNs: number;
  /** Arrivals lie in [startNs, endNs); endNs is Infinity if only the input limits it. */
  readonly startNs: number;
  readonly endNs: number;
  /** One random stream per purpose: a change of popularity leaves the arrival times unchanged. */
  random(purpose: string): Random;
  placeOf(key: string): ErrorPlace;
}

/** Throws `E_UNKNOWN_MODEL` if the workload addresses models that the run does not have. */
export function frameOf(spec: CommonSpec, context: WorkloadContext, name: string): Frame {
  const models = selectModels(context.models, spec.models);
  const startNs = spec.startNs ?? 0;
  return {
    models,
    modelNames: Array.from(models, (model) => context.models[model]),
    longest: Array.from(models, (model) => context.longest?.[model] ?? Number.POSITIVE_INFINITY),
    sloNs: spec.sloNs ?? context.sloNs,
    startNs,
    endNs: spec.durationNs === undefined ? Number.POSITIVE_INFINITY : startNs + spec.durationNs,
    placeOf: context.placeOf ?? ((key) => ({ key: `${name}.${key}` })),
    random: (purpose) => stream(context.seed, `${name}/${purpose}`),
  };
}
