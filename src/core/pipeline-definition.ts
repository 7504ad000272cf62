import type { ErrorPlace } from '../base/errors.js';
import type { PipelineSpec, PipelineStep } from './pipelines.js';

/** Where an input of a step, or an output of a pipeline, comes from: an output of a step, or an input of the pipeline. */
export type TensorReference = { readonly step: number; readonly output: string } | { readonly input: string };

/** A step of a pipeline as it was written, with its models by name. */
export interface StepDefinition extends Omit<PipelineStep, 'model'> {
  /** Models of which any may serve it, the most accurate first. */
  readonly modelNames: readonly string[];
  /** Null: the one that is served by default. */
  readonly version: string | null;
  /** By input of the model; others are inputs of the pipeline with the same name. */
  readonly inputs: Readonly<Record<string, TensorReference>>;
  /** Inputs of which each request gets one row: they decide how many requests there are. */
  readonly each: readonly string[];
  /** False if its number of requests may be other than one, even without `each`. */
  readonly isOne: boolean;
}

/** A pipeline as it was written. */
export interface PipelineDefinition extends Omit<PipelineSpec, 'steps'> {
  readonly steps: readonly StepDefinition[];
  /** Null: all outputs of the steps that none waits for. */
  readonly outputs: Readonly<Record<string, TensorReference>> | null;
  /** SLO of its requests; null: the default. */
  readonly sloNs: number | null;
  /** Where it is written, for messages; absent if that is not known. */
  readonly place?: ErrorPlace;
}
