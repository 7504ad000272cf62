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
import type { FleetOptions } from './fleet.js';
import type { NetworkOptions } from './network.js';
import type { ModelSpread } from './spread.js';

/** From some moment on, what starts and what is sent is subject to this. */
export interface ConditionsChange {
  readonly atNs: number;
  readonly noise: DeviceNoise;
  readonly network: NetworkOptions;
}

export interface SimulatorOptions {
  readonly models: readonly ModelSpec[];
  /** Slots for models that `putModel` brings, and the largest batch that these may have. */
  readonly spareModels?: number;
  readonly spareBatch?: number;
  readonly gpus: number;
  /** Pages of each GPU's weights cache. */
  readonly pages: number;
  /** The kinds of those GPUs in order of their numbers, in place of `pages`; default: one. */
  readonly kinds?: readonly GpuKind[];
  /** True: a GPU runs a LOAD or an INFER, never both at once. */
  readonly oneLane?: boolean;
  /** How inputs of different lengths share a batch; default: `batch`. */
  readonly padding?: Padding;
  readonly defaultSloNs: number;
  readonly createPolicy: (context: PolicyContext) => Policy;
  readonly source: ArrivalSource;
  /** Of every random stream in the simulated world. */
  readonly seed: number | string;
  readonly observer?: RunObserver;
  readonly admission?: Admission;
  readonly missedWindow?: MissedWindow;
  /** What requests weigh. Default: all alike. */
  readonly classes?: readonly RequestClass[];
  /** Who sends them, and how much they may. Default: anyone, any number. */
  readonly tenants?: readonly Tenant[];
  /** Bytes per second of INPUT and OUTPUT copies; by default they take no time. */
  readonly copyBytesPerS?: number;
  readonly noise?: DeviceNoise & {
    /** Every model's durations are its profile's times a factor drawn from 1 ± this; see `trueModels`. */
    readonly profile?: number;
  };
  /** Durations are drawn from these instead of taken from the profile: by kind of GPU, one entry a model. */
  readonly spreads?: readonly (readonly (ModelSpread | null)[])[] | null;
  /** INFERs take an exponentially distributed time, whose mean is the profile's: as in queueing theory. */
  readonly exponential?: boolean;
  /** What a lane needs from taking up an action to the action's begin. */
  readonly overheadNs?: number;
  /** What stopping a running INFER takes. */
  readonly abortNs?: number;
  readonly network?: NetworkOptions;
  /** Each worker's clock is off by a constant drawn uniformly from ± this: what clock synchronisation left. */
  readonly clockOffsetNs?: number;
  /** Changes of GPU clocks relative to nominal, by time; gpu −1 is all. */
  readonly gpuClock?: readonly { readonly atNs: number; readonly gpu: number; readonly factor: number }[];
  /** Changes of noise and network, by time. */
  readonly changes?: readonly ConditionsChange[];
  /** How GPUs come and go; absent: all are there. */
  readonly fleet?: FleetOptions;
  /** Checks that controller, workers and queues agree after every instant. Slow. */
  readonly checks?: boolean;
}
