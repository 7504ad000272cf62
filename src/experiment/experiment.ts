import type { Admission } from '../core/controller.js';
import type { ModelSpec } from '../core/model.js';
import type { PolicyOptions } from '../policies/entry.js';
import type { ConditionsChange } from '../sim/simulator.js';
import type { ModelSpread } from '../sim/spread.js';
import type { WorkloadSpec } from '../workload/spec.js';
import type { RuntimeSettings } from './runtime-settings.js';
import type { LIVE_DEVICES } from './schema-live.js';

/** One run, checked and in canonical units: what an experiment file says after defaults and overrides. */
export interface Experiment {
  readonly name: string;
  /** Path of the file it came from, for messages. */
  readonly file: string;
  /** The file as written and the overrides on top of it: for the record, nothing else depends on it. */
  readonly source: { readonly text: string; readonly overrides: readonly string[] };
  readonly seed: number;
  readonly cluster: ClusterConfig;
  readonly models: readonly ModelSpec[];
  /** Where the ONNX file of each model is, for live mode; null for kinds that have none. */
  readonly modelFiles: readonly (string | null)[];
  /** How the measured durations of each model spread; null where its section does not tell. */
  readonly spreads: readonly (ModelSpread | null)[];
  /** Several sections run at the same time. */
  readonly workloads: readonly WorkloadSpec[];
  /** Objective of requests that carry none of their own, ns. */
  readonly sloNs: number;
  readonly policy: { readonly kind: string; readonly options: PolicyOptions };
  readonly admission: Admission;
  /** Requests that arrive before this are served but not counted, ns. */
  readonly warmupNs: number;
  /** Checks the simulator's invariants after every instant: slow, for debugging. */
  readonly checks: boolean;
  readonly output: OutputConfig;
  readonly live: LiveConfig;
  readonly runtime: RuntimeSettings;
}

export interface ClusterConfig {
  /** GPUs over all workers. */
  readonly gpus: number;
  /** GPUs are dealt to this many worker machines in blocks; for logs. */
  readonly workers: number;
  /** Pages of each GPU's weights cache, and bytes of a page. */
  readonly pages: number;
  readonly pageBytes: number;
  /** Bytes per second of INPUT and OUTPUT copies; Infinity: they take no time. */
  readonly copyBytesPerS: number;
  /** One-way delay between controller and worker, and the mean of an exponential part on top. */
  readonly network: { readonly delayNs: number; readonly jitterNs: number };
  /** Each worker's clock is off by a constant drawn from ± this. */
  readonly clockOffsetNs: number;
  readonly noise: NoiseConfig;
  /** A GPU runs a LOAD or an INFER, never both at once. */
  readonly oneLane: boolean;
  /** From the moment that a lane takes up an action to the action's begin. */
  readonly overheadNs: number;
  /** What stopping a running INFER takes. */
  readonly abortNs: number;
  /** GPU clock changes, relative to nominal, sorted by time; gpu −1 is all. */
  readonly gpuClock: readonly { readonly atNs: number; readonly gpu: number; readonly factor: number }[];
  /** Changes of noise and network, sorted by time, each with all that is in force from then on. */
  readonly changes: readonly ConditionsChange[];
}

export interface NoiseConfig {
  /** `profile`: durations are drawn from `Experiment.spreads`. */
  readonly distribution: 'normal' | 'profile';
  /** Standard deviation of INFER and LOAD durations relative to the profile. */
  readonly exec: number;
  readonly load: number;
  /** Share of INFERs that take `stragglerFactor` times as long. */
  readonly stragglers: number;
  readonly stragglerFactor: number;
  /** Each model's true durations are its profile's times a factor drawn from 1 ± this. */
  readonly profile: number;
}

/** How the experiment runs live; nothing in a simulation depends on it. */
export interface LiveConfig {
  readonly device: (typeof LIVE_DEVICES)[number];
  /** Simulated devices take this many times as long as the profiles say. */
  readonly timeScale: number;
}

export interface OutputConfig {
  /** Write requests.tsv and actions.tsv with --out. */
  readonly requestLog: boolean;
  readonly actionLog: boolean;
  /** Virtual time that timeline.json and the GPU chart show, half-open, ns; null: none. */
  readonly timelineNs: readonly [number, number] | null;
}
