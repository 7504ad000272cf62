import type * as z from 'zod';
import type { ErrorPlace } from '../base/errors.js';
import type { Immutable } from '../base/immutable.js';
import type { InputFiles } from '../base/world/input-files.js';
import type { Admission } from '../core/admission.js';
import type { Padding } from '../core/lengths.js';
import type { ModelSpec } from '../core/model.js';
import type { MissedWindow } from '../core/retry.js';
import type { ModelSpread } from '../sim/spread.js';
import type { WorkloadSpec } from '../workload/spec.js';
import type { Path } from './document.js';
import type { PipelineConfig } from './pipelines.js';
import type { outputSchema } from './schema.js';
import type { clusterSchema } from './schema-cluster.js';
import type { PolicyChoice, ScalerChoice } from './schema-policy.js';
import type { liveSchema, RuntimeSettings } from './schema-runtime.js';
import type { ClassConfig, TenantsConfig } from './schema-senders.js';
import type { Case, sweepSchema } from './sweep-section.js';

/** One run, checked and in canonical units: an experiment file after defaults and overrides. */
export interface Experiment {
  readonly name: string;
  /** Path of the file it came from, for messages. */
  readonly file: string;
  /** The file as written and its overrides, for the record; nothing else depends on it. */
  readonly source: { readonly text: string; readonly overrides: readonly string[] };
  /** Reads its traces. */
  readonly files: InputFiles;
  /** Place of a key, for errors. */
  placeOf(path: Path): ErrorPlace;
  /** Value of a dotted key as written, or else its default; undefined if it is derived, or not in use. */
  writtenValue(key: string): unknown;
  readonly seed: number;
  readonly cluster: ClusterConfig;
  readonly models: readonly ModelSpec[];
  /** Pipelines of those models; workloads number them after these. */
  readonly pipelines: readonly PipelineConfig[];
  /** Path of each model's ONNX file, for live mode; null for kinds that have none. */
  readonly modelFiles: readonly (string | null)[];
  /** Estimated properties of the models, and suspicious figures. */
  readonly warnings: readonly string[];
  /** Guesses behind the file. */
  readonly assumed: readonly string[];
  /** By kind of GPU: spread of each model's measured durations; null if its section has none. */
  readonly spreads: readonly (readonly (ModelSpread | null)[])[];
  /** Classes of requests; empty: none are declared, and all requests weigh 1. */
  readonly classes: readonly ClassConfig[];
  /** Tenants; an empty list: there are none. */
  readonly tenants: TenantsConfig;
  /** Sections run in parallel. */
  readonly workloads: readonly WorkloadSpec[];
  /** SLO of requests that carry none of their own, ns. */
  readonly sloNs: number;
  readonly policy: PolicyChoice;
  /** Scaler that decides the number of GPUs. */
  readonly scaler: ScalerChoice;
  readonly admission: Admission;
  /** Padding of inputs of different lengths that share a batch. */
  readonly padding: Padding;
  /** Null: `retry` in real time; in simulations the policy's own behaviour. */
  readonly missedWindow: MissedWindow | null;
  /** Earlier requests are served but not counted, ns. */
  readonly warmupNs: number;
  /** Checks the simulator's invariants after every instant: slow, for debugging. */
  readonly checks: boolean;
  readonly output: OutputConfig;
  readonly live: LiveConfig;
  readonly runtime: RuntimeSettings;
  /** Null: the file has none. Its keys are checked with the cells. */
  readonly sweep: SweepSection | null;
  readonly scenarios: readonly Case[];
}

/** The cluster in canonical units: bytes, ns, bytes per second. */
export interface ClusterConfig extends Immutable<z.output<typeof clusterSchema>> {}
export type NoiseConfig = ClusterConfig['noise'];
/** Live settings of the experiment; no simulation depends on them. */
export interface LiveConfig extends Immutable<Required<z.output<typeof liveSchema>>> {}
/** The sweep that a file describes. */
interface SweepSection extends NonNullable<z.output<typeof sweepSchema>> {}
export interface OutputConfig extends Immutable<z.output<typeof outputSchema>> {}
