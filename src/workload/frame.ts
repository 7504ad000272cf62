import type { ErrorPlace } from '../base/errors.js';
import type { Random } from '../base/random/streams.js';
import { stream } from '../base/random/streams.js';
import type { InputFiles } from '../base/world/input-files.js';
import { selectModels } from './select-models.js';
import type { CommonSpec } from './spec.js';

/** What a workload needs to know of the run that it is part of. */
export interface WorkloadContext {
  /** Names of the run's models in index order. */
  readonly models: readonly string[];
  /** By model: the longest input that it takes; Infinity: all have one length. Default: all of them. */
  readonly longest?: readonly number[];
  /** SLO of requests that carry none of their own, ns. */
  readonly sloNs: number;
  readonly seed: number | string;
  /** Where a key of the workload is written, for errors. Default: the key, after the name of its random streams. */
  readonly placeOf?: (key: string) => ErrorPlace;
}

/** The same with what its files are read with. */
export interface OpenContext extends WorkloadContext {
  readonly files: InputFiles;
}

/** The part of a workload that all kinds share: whom it addresses, when, with which SLO and draws. */
export interface Frame {
  /** Indices (among the models of the run) of the models that it addresses, ascending. */
  readonly models: Int32Array;
  /** Names of those models. */
  readonly modelNames: readonly string[];
  /** The longest input that each of them takes; Infinity: all have one length. */
  readonly longest: readonly number[];
  readonly sloNs: number;
  /** Arrivals lie in [startNs, endNs); endNs is Infinity where only the input limits it. */
  readonly startNs: number;
  readonly endNs: number;
  /** One random stream a purpose: a change of popularity leaves the arrival times as they were. */
  random(purpose: string): Random;
  placeOf(key: string): ErrorPlace;
}

/** Throws `E_UNKNOWN_MODEL` when the workload addresses models that the run does not have. */
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
