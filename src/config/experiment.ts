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
import type { outputSchema } from './schema.js';
import type { clusterSchema } from './schema-cluster.js';
import type { PolicyChoice, ScalerChoice } from './schema-policy.js';
import type { liveSchema, RuntimeSettings } from './schema-runtime.js';
import type { ClassConfig, TenantsConfig } from './schema-senders.js';

/** One run, checked and in canonical units: what an experiment file says after defaults and overrides. */
export interface Experiment {
  readonly name: string;
  /** Path of the file it came from, for messages. */
  readonly file: string;
  /** The file as written and the overrides on top of it: for the record, nothing else depends on it. */
  readonly source: { readonly text: string; readonly overrides: readonly string[] };
  /** What its traces are read with. */
  readonly files: InputFiles;
  /** Where a key is written, for errors. */
  placeOf(path: Path): ErrorPlace;
  readonly seed: number;
  readonly cluster: ClusterConfig;
  readonly models: readonly ModelSpec[];
  /** Where the ONNX file of each model is, for live mode; null for kinds that have none. */
  readonly modelFiles: readonly (string | null)[];
  /** What was estimated of the models, and what looks wrong with their figures. */
  readonly warnings: readonly string[];
  /** By kind of GPU: how the measured durations of each model spread; null where its section does not say. */
  readonly spreads: readonly (readonly (ModelSpread | null)[])[];
  /** Classes of requests; empty: none are declared, and all requests weigh 1. */
  readonly classes: readonly ClassConfig[];
  /** On whose behalf requests are sent; an empty list: none are told apart. */
  readonly tenants: TenantsConfig;
  /** Several sections run at the same time. */
  readonly workloads: readonly WorkloadSpec[];
  /** SLO of requests that carry none of their own, ns. */
  readonly sloNs: number;
  readonly policy: PolicyChoice;
  /** What decides how many GPUs there are. */
  readonly scaler: ScalerChoice;
  readonly admission: Admission;
  /** How inputs of different lengths share a batch. */
  readonly padding: Padding;
  /** Null: `retry` in real time; in simulations what the policy does by itself. */
  readonly missedWindow: MissedWindow | null;
  /** Requests that arrive before this are served but not counted, ns. */
  readonly warmupNs: number;
  /** Checks the simulator's invariants after every instant: slow, for debugging. */
  readonly checks: boolean;
  readonly output: OutputConfig;
  readonly live: LiveConfig;
  readonly runtime: RuntimeSettings;
}

/** The cluster in canonical units: bytes, ns, bytes per second. */
export interface ClusterConfig extends Immutable<z.output<typeof clusterSchema>> {}
export type NoiseConfig = ClusterConfig['noise'];
/** How the experiment runs live; nothing in a simulation depends on it. */
export interface LiveConfig extends Immutable<Required<z.output<typeof liveSchema>>> {}
export interface OutputConfig extends Immutable<z.output<typeof outputSchema>> {}
