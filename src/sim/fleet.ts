import { invariant } from '../base/invariant.js';
import type { Cluster } from '../core/cluster.js';
import {
  type FleetObserver,
  GPU_DRAINING,
  GPU_OFF,
  GPU_ON,
  GPU_STARTING,
  type GpuState,
} from '../core/fleet-observer.js';
import type { GpuCount, ScalingDecision } from '../core/scaler.js';
import type { GpuFailure } from './failures.js';

/** A kind of GPU with a varying number. */
interface FleetKind {
  /** Number of GPUs: the maximum. */
  readonly gpus: number;
  /** Number of GPUs on at the start; the first ones. */
  readonly on: number;
  /** Time from ordering a GPU until it takes actions. */
  readonly startNs: number;
  /** Minimum lifetime of a GPU, from its order on. */
  readonly minLifetimeNs: number;
}

/** Scaling of a simulated cluster. */
export interface FleetOptions {
  /** In order of GPU number. */
  readonly kinds: readonly FleetKind[];
  readonly intervalNs: number;
  /** End of scaling decisions. */
  readonly untilNs: number;
  decide(counts: readonly GpuCount[], nowNs: number): ScalingDecision;
  /** Failures, those of a GPU one after the other; absent: none. Not together with decisions. */
  readonly failures?: readonly GpuFailure[];
  readonly observers: readonly FleetObserver[];
}

/** Requests of a fleet to the simulator. */
interface FleetPort {
  /** Schedules a call of `ready` at `readyNs`, with `order`. */
  start(gpu: number, readyNs: number, order: number): void;
  /** Stops sending the GPU actions. */
  drain(gpu: number): void;
  /** Removes the GPU, which has nothing left to do. */
  stop(gpu: number): void;
  /** Cost of stopping the GPU; the one with the lowest cost is stopped. */
  lossOf(gpu: number): number;
}

/** GPUs present in a simulated cluster, following a scaler's decisions. */
export class Fleet {
  private readonly state: Uint8Array;
  /** By GPU: number of its last order; earlier ones were cancelled. */
  private readonly order: Int32Array;
  /** By GPU: time of its last order. */
  private readonly orderedNs: Float64Array;
  private readonly kindOf: number[];
  /** By GPU: actions sent without a result. */
  private readonly owed: Int32Array;
  private readonly draining: number[] = [];

  constructor(
    private readonly options: FleetOptions,
    private readonly port: FleetPort,
  ) {
    this.kindOf = options.kinds.flatMap(({ gpus }, kind) => new Array<number>(gpus).fill(kind));
    this.state = new Uint8Array(this.kindOf.length);
    this.order = new Int32Array(this.kindOf.length);
    this.orderedNs = new Float64Array(this.kindOf.length).fill(Number.NEGATIVE_INFINITY);
    this.owed = new Int32Array(this.kindOf.length);
    let first = 0;
    for (const { gpus, on } of options.kinds) {
      for (let gpu = first; gpu < first + on; gpu++) this.set(gpu, GPU_ON, 0);
      first += gpus;
    }
  }

  /** Time of the first decision. */
  get firstNs(): number {
    const { intervalNs, untilNs } = this.options;
    return intervalNs < untilNs ? intervalNs : Number.POSITIVE_INFINITY;
  }

  sent(gpu: number): void {
    this.owed[gpu]++;
  }

  returned(gpu: number): void {
    this.owed[gpu]--;
  }

  /** Turns off draining GPUs that have nothing outstanding. */
  letGo(nowNs: number): void {
    const { draining } = this;
    for (let i = draining.length - 1; i >= 0; i--) {
      const gpu = draining[i];
      if (this.owed[gpu] > 0) continue;
      draining.splice(i, 1);
      this.set(gpu, GPU_OFF, nowNs);
      this.port.stop(gpu);
    }
  }

  isOff(gpu: number): boolean {
    return this.state[gpu] === GPU_OFF || this.state[gpu] === GPU_STARTING;
  }

  counts(): GpuCount[] {
    const counts = this.options.kinds.map(() => [0, 0, 0, 0]);
    for (const [gpu, state] of this.state.entries()) counts[this.kindOf[gpu]][state]++;
    return counts.map((of) => ({ on: of[GPU_ON], starting: of[GPU_STARTING], draining: of[GPU_DRAINING] }));
  }

  /** Asks the scaler and applies its decision. Returns the time of the next one; Infinity: never. */
  scale(nowNs: number): number {
    const { options } = this;
    if (nowNs >= options.untilNs) return Number.POSITIVE_INFINITY;
    const counts = this.counts();
    const decision = options.decide(counts, nowNs);
    for (const observer of options.observers) observer.scaled?.(decision, counts, nowNs);
    counts.forEach(({ on, starting }, kind) => {
      const more = decision.gpus[kind] - on - starting;
      for (let i = 0; i < more; i++) this.startOne(kind, nowNs);
      for (let i = 0; i > more; i--) this.stopOne(kind, nowNs);
    });
    const nextNs = nowNs + options.intervalNs;
    return nextNs < options.untilNs ? nextNs : Number.POSITIVE_INFINITY;
  }

  /** Puts a started GPU into service; false if that order was cancelled. */
  ready(gpu: number, order: number, nowNs: number): boolean {
    if (this.order[gpu] !== order || this.state[gpu] !== GPU_STARTING) return false;
    this.set(gpu, GPU_ON, nowNs);
    return true;
  }

  /** Loses a GPU. One that is paid for nevertheless counts as ordered again at once. */
  failed(gpu: number, nowNs: number): void {
    this.owed[gpu] = 0;
    this.set(gpu, GPU_OFF, nowNs);
    if (this.failureAt(gpu, nowNs).isBilled) this.set(gpu, GPU_STARTING, nowNs);
  }

  /** Puts a GPU that has failed into service again. */
  recovered(gpu: number, nowNs: number): void {
    if (this.state[gpu] === GPU_OFF) this.set(gpu, GPU_STARTING, nowNs);
    this.set(gpu, GPU_ON, nowNs);
  }

  private failureAt(gpu: number, nowNs: number): GpuFailure {
    return this.options.failures!.find((one) => one.gpu === gpu && one.atNs === nowNs)!;
  }

  /**
   * Starts the lowest-numbered GPU that is off. There may be none while one drains; then the next decision asks again.
   */
  private startOne(kind: number, nowNs: number): void {
    const gpu = this.state.findIndex((state, i) => state === GPU_OFF && this.kindOf[i] === kind);
    if (gpu < 0) return;
    this.set(gpu, GPU_STARTING, nowNs);
    this.orderedNs[gpu] = nowNs;
    this.port.start(gpu, nowNs + this.options.kinds[kind].startNs, ++this.order[gpu]);
  }

  /** Cancels a starting GPU if there is one, otherwise drains one that is on. A recently ordered GPU stays. */
  private stopOne(kind: number, nowNs: number): void {
    const orderedBy = nowNs - this.options.kinds[kind].minLifetimeNs;
    const mayStop = (gpu: number) => this.kindOf[gpu] === kind && this.orderedNs[gpu] <= orderedBy;
    const starting = this.state.findLastIndex((state, gpu) => state === GPU_STARTING && mayStop(gpu));
    if (starting >= 0) {
      this.set(starting, GPU_OFF, nowNs);
      return;
    }
    let least = -1;
    let leastLoss = Number.POSITIVE_INFINITY;
    for (let gpu = this.state.length - 1; gpu >= 0; gpu--) {
      if (this.state[gpu] !== GPU_ON || !mayStop(gpu)) continue;
      const loss = this.port.lossOf(gpu);
      if (loss >= leastLoss) continue;
      leastLoss = loss;
      least = gpu;
    }
    invariant(least >= 0, 'no more GPUs are stopped than there are, and no younger ones');
    this.set(least, GPU_DRAINING, nowNs);
    this.draining.push(least);
    this.port.drain(least);
  }

  private set(gpu: number, state: GpuState, nowNs: number): void {
    this.state[gpu] = state;
    for (const observer of this.options.observers) observer.gpuChanged?.(gpu, state, nowNs);
  }
}

/** Cost to the cluster of losing a GPU: time to finish its work, and to load elsewhere models that only it holds. */
export function lossOf(cluster: Cluster, gpu: number): number {
  let lossNs = cluster.exec[gpu].outstandingNs;
  for (let model = 0; model < cluster.models.length; model++) {
    if (cluster.warm.has(model, gpu) && cluster.warm.count(model) === 1) lossNs += cluster.loadNs(model);
  }
  return lossNs;
}
