/** `strong`: the same models and clients for any number of GPUs; `weak`: as many for each GPU. */
export const SCALING_MODES = ['strong', 'weak'] as const;
export type ScalingMode = (typeof SCALING_MODES)[number];

/** All that a scaling benchmark found. `--json` prints it. */
export interface ScalingResult {
  /** Of escapement. */
  readonly version: string;
  readonly name: string;
  /** `kind`: a provider of onnxruntime, or `simulated`: the GPUs are emulated. */
  readonly device: { readonly text: string; readonly kind: string };
  /** Processors of this machine. */
  readonly cores: number;
  readonly trials: number;
  /** Of a trial. */
  readonly seconds: number;
  /** Of a request, on average. */
  readonly inputBytes: number;
  readonly runs: readonly ScalingRun[];
}

/** One mode over all numbers of GPUs, ascending: the first is the base. */
export interface ScalingRun {
  readonly mode: ScalingMode;
  readonly points: readonly ScalingPoint[];
  readonly verdict: { readonly title: string; readonly efficiency: number; readonly goodGpus: number };
}

export interface Measured {
  readonly gpus: number;
  readonly models: number;
  readonly clients: number;
  readonly sloMs: number;
  /** Of each trial. */
  readonly trialsRps: readonly number[];
  readonly activity: Activity;
}

export interface ScalingPoint extends Measured {
  readonly throughputRps: number;
  /** Requests per second compared with the base, and what it would be if nothing were lost. */
  readonly speedUp: Ratio;
  readonly ideal: number;
  /** Requests per second and GPU compared with the base: about the product of the factors. */
  readonly efficiency: Ratio;
  /**
   * Compared with the base: how busy the GPUs are, how little the batches that were used take for a request by the
   * profile, and how fast INFERs are compared with the profile.
   */
  readonly factors: { readonly busy: number; readonly batches: number; readonly device: number };
}

/** A mean with its standard deviation. */
interface Ratio {
  readonly mean: number;
  readonly sd: number;
}

/** What went on, on average over the trials. */
export interface Activity {
  /** Share of the time in which EXEC lanes were busy: of all GPUs, and of the least busy. */
  readonly execMean: number;
  readonly execMin: number;
  /** Time that the INFERs of a GPU take by the models' profiles, as a share of the time. */
  readonly profileMean: number;
  /** Requests of an INFER. */
  readonly meanBatch: number;
  readonly loads: number;
  /** Share of the requests that had no result. */
  readonly failedShare: number;
  /** Share of the time in which the event loop of the controller's thread was busy, with the clients in it. */
  readonly loopBusy: number;
  /** Share of the time that the core's decisions took. */
  readonly stepShare: number;
  /** Processors that the process used. */
  readonly cores: number;
}
