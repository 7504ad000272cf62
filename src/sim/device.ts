import { exponential, normal } from '../base/random/distributions.js';
import type { Random } from '../base/random/streams.js';
import { NS_PER_S } from '../base/units.js';
import { type Action, STATUS_ABORTED, STATUS_OK } from '../core/action.js';
import type { DevicePort } from '../core/device-port.js';
import { timesOfBucket } from '../core/lengths.js';
import { type ModelSpec, timesOn } from '../core/model.js';
import { type EventQueue, EXEC_END, INPUT_END, LOAD_END, OUTPUT_END } from './event-queue.js';
import { type ModelSpread, quantile } from './spread.js';

/** Minimum execution time as a share of the profiled time, whatever the noise. */
const LEAST_NOISE_FACTOR = 0.1;

/** Deviations of a simulated GPU from its profile. */
export interface DeviceNoise {
  /** Standard deviation of EXEC and LOAD times relative to the profile (normal, seeded). */
  readonly exec: number;
  readonly load: number;
  /** Share of INFERs slowed down by `stragglerFactor`. */
  readonly stragglers: number;
  readonly stragglerFactor: number;
}

export const NO_NOISE: DeviceNoise = { exec: 0, load: 0, stragglers: 0, stragglerFactor: 1 };

export interface SimDeviceOptions {
  readonly gpu: number;
  readonly kind: number;
  /** True models, which may differ from their profiles. */
  readonly models: readonly ModelSpec[];
  readonly events: EventQueue;
  /** True time: a worker's clock may be off, but not its GPU's. */
  readonly clock: { readonly nowNs: number };
  /** Bytes per second of INPUT and OUTPUT copies; Infinity: copies take no time. */
  readonly copyBytesPerS: number;
  /** Initial noise. */
  readonly noise: DeviceNoise;
  /** By model: distribution that durations are drawn from; null: none. */
  readonly spreads: readonly (ModelSpread | null)[] | null;
  /** True if INFERs take an exponentially distributed time, with the profile's as mean. */
  readonly exponential: boolean;
  /** Delay between a lane taking up an action and the action's start, as in a real executor. */
  readonly overheadNs: number;
  /** Time that stopping an INFER takes. */
  readonly abortNs: number;
  /** Random streams of the noise; shared by all devices of a run. */
  readonly execRandom: Random;
  readonly loadRandom: Random;
}

/** A GPU that takes the time in its profile, and schedules the end of each started action. */
export class SimDevice implements DevicePort {
  readonly copies: boolean;
  /** Current clock relative to nominal; EXEC times are divided by it. */
  clockFactor = 1;
  /** Clock at the start of the running INFER, by which its time was divided. */
  execClock = 1;
  /** Status of the INFER that ended last. */
  execStatus = STATUS_OK;
  /** Noise of actions that start from now on. */
  noise: DeviceNoise;
  /** Model of the last INFER, −1 at first. */
  private lastModel = -1;
  /** Number of the scheduled end that belongs to the running INFER, and its time. */
  private execEnd = 0;
  private execEndNs = 0;

  constructor(private readonly options: SimDeviceOptions) {
    this.copies = options.copyBytesPerS !== Number.POSITIVE_INFINITY;
    this.noise = options.noise;
  }

  startInput(action: Action): void {
    this.startCopy(action, INPUT_END, this.options.models[action.model].inputBytes);
  }

  startOutput(action: Action): void {
    this.startCopy(action, OUTPUT_END, this.options.models[action.model].outputBytes);
  }

  startExec(action: Action, nowNs: number): void {
    const { options, noise } = this;
    const model = options.models[action.model];
    let durationNs = timesOfBucket(timesOn(model, options.kind), action.bucket)[action.batchIndex];
    const spread = options.spreads?.[action.model];
    // By bucket, and within it by batch size.
    const row = action.bucket * model.batchSizes.length + action.batchIndex;
    const exec = spread?.exec[row];
    if (exec) durationNs *= quantile(exec, options.execRandom());
    if (options.exponential) durationNs *= exponential(options.execRandom);
    if (spread && action.model !== this.lastModel) durationNs += spread.switchNs[row];
    this.lastModel = action.model;
    if (noise.exec > 0) durationNs *= noiseFactor(options.execRandom, noise.exec);
    if (noise.stragglers > 0 && options.execRandom() < noise.stragglers) durationNs *= noise.stragglerFactor;
    this.execClock = this.clockFactor;
    this.execStatus = STATUS_OK;
    this.execEndNs = options.clock.nowNs + this.begin(action, nowNs, Math.round(durationNs / this.execClock));
    options.events.schedule(this.execEndNs, EXEC_END, options.gpu, null).execEnd = ++this.execEnd;
  }

  abort(): void {
    const { clock, abortNs, events, gpu } = this.options;
    const endNs = clock.nowNs + abortNs;
    if (endNs >= this.execEndNs) return;
    this.execStatus = STATUS_ABORTED;
    this.execEndNs = endNs;
    events.schedule(endNs, EXEC_END, gpu, null).execEnd = ++this.execEnd;
  }

  /** True if a scheduled end of an INFER is still valid: an aborted one has another. */
  isExecEnd(sequence: number): boolean {
    return sequence === this.execEnd;
  }

  startLoad(action: Action, nowNs: number): void {
    const { options, noise } = this;
    let durationNs = timesOn(options.models[action.model], options.kind).loadNs;
    const spread = options.spreads?.[action.model]?.load;
    if (spread) durationNs *= quantile(spread, options.loadRandom());
    if (noise.load > 0) durationNs *= noiseFactor(options.loadRandom, noise.load);
    this.end(LOAD_END, this.begin(action, nowNs, Math.round(durationNs)));
  }

  unload(): void {
    // Freeing pages takes no time, and nothing else is simulated.
  }

  private startCopy(action: Action, kind: typeof INPUT_END | typeof OUTPUT_END, bytes: number): void {
    this.end(kind, Math.round((bytes * action.count * NS_PER_S) / this.options.copyBytesPerS));
  }

  /** Time from now to the action's end. */
  private begin(action: Action, nowNs: number, durationNs: number): number {
    const { overheadNs } = this.options;
    action.beginNs = nowNs + overheadNs;
    return overheadNs + durationNs;
  }

  private end(kind: typeof LOAD_END | typeof INPUT_END | typeof OUTPUT_END, durationNs: number): void {
    const { events, clock, gpu } = this.options;
    events.schedule(clock.nowNs + durationNs, kind, gpu, null);
  }
}

function noiseFactor(random: Random, deviation: number): number {
  return Math.max(LEAST_NOISE_FACTOR, 1 + deviation * normal(random));
}
