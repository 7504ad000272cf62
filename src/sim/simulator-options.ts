import type { Admission } from '../core/admission.js';
import type { ArrivalSource } from '../core/arrivals.js';
import type { RequestClass } from '../core/classes.js';
import type { GpuKind } from '../core/cluster-spec.js';
import type { Padding } from '../core/lengths.js';
import type { ModelSpec } from '../core/model.js';
import type { RunObserver } from '../core/observer.js';
import type { Policy, PolicyContext } from '../core/policy.js';
import type { MissedWindow } from '../core/retry.js';
import type { Tenant } from '../core/tenants.js';
import type { DeviceNoise } from './device.js';
import type { DrawnPipeline } from './fan-out.js';
import type { FleetOptions } from './fleet.js';
import type { NetworkOptions } from './network.js';
import type { ModelSpread } from './spread.js';

/** Conditions for actions that start and messages that are sent from some time on. */
export interface ConditionsChange {
  readonly atNs: number;
  readonly noise: DeviceNoise;
  readonly network: NetworkOptions;
}

export interface SimulatorOptions {
  readonly models: readonly ModelSpec[];
  /** Slots for models added by `putModel`, and the largest batch that these may have. */
  readonly spareModels?: number;
  readonly spareBatch?: number;
  readonly gpus: number;
  /** Pages of each GPU's weights cache. */
  readonly pages: number;
  /** Kinds of those GPUs in order of their numbers, in place of `pages`; default: one kind. */
  readonly kinds?: readonly GpuKind[];
  /** True if a GPU runs either a LOAD or an INFER, never both at once. */
  readonly oneLane?: boolean;
  /** Padding of inputs of different lengths in a batch; default: `batch`. */
  readonly padding?: Padding;
  readonly defaultSloNs: number;
  readonly createPolicy: (context: PolicyContext) => Policy;
  readonly source: ArrivalSource;
  /** Seed of all random streams in the simulated world. */
  readonly seed: number | string;
  readonly observer?: RunObserver;
  readonly admission?: Admission;
  readonly missedWindow?: MissedWindow;
  /** Request classes. Default: all requests weigh the same. */
  readonly classes?: readonly RequestClass[];
  /** Tenants and their limits. Default: anyone may send any number. */
  readonly tenants?: readonly Tenant[];
  /** Pipelines, which the source numbers after the models. Default: none. */
  readonly pipelines?: readonly DrawnPipeline[];
  /** Bytes per second of INPUT and OUTPUT copies; by default they take no time. */
  readonly copyBytesPerS?: number;
  readonly noise?: DeviceNoise & {
    /**
     * Profile error: a model's true durations are its profile's times a factor drawn from 1 ± this; see `trueModels`.
     */
    readonly profile?: number;
    /** Factors by which INFERs of models, by name, take longer than profiled. */
    readonly scale?: Readonly<Record<string, number>>;
  };
  /** Distributions of durations in place of the profile's: by kind of GPU, one entry per model. */
  readonly spreads?: readonly (readonly (ModelSpread | null)[])[] | null;
  /** True if INFERs take an exponentially distributed time with the profile's as mean, as in queueing theory. */
  readonly exponential?: boolean;
  /** Delay between a lane taking up an action and the action's start. */
  readonly overheadNs?: number;
  /** Time that stopping a running INFER takes. */
  readonly abortNs?: number;
  readonly network?: NetworkOptions;
  /** Clock error after synchronization: each worker's clock is off by a constant drawn uniformly from ± this. */
  readonly clockOffsetNs?: number;
  /** Changes of GPU clocks relative to nominal, by time; gpu −1 stands for all. */
  readonly gpuClock?: readonly { readonly atNs: number; readonly gpu: number; readonly factor: number }[];
  /** Changes of noise and network, by time. */
  readonly changes?: readonly ConditionsChange[];
  /** Scaling and failures; absent: all GPUs are there throughout. */
  readonly fleet?: FleetOptions;
  /** Checks after every instant that controller, workers and queues agree. Slow. */
  readonly checks?: boolean;
}
