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

/** One kind of GPUs that come and go. */
interface FleetKind {
  /** How many have a number: the most that there may be. */
  readonly gpus: number;
  /** How many are on at the start; the first ones. */
  readonly on: number;
  /** From the order of a GPU until it takes actions. */
  readonly startNs: number;
  /** For how long it is kept at least, from its order on. */
  readonly minLifetimeNs: number;
}

/** How a simulated cluster gets more GPUs and fewer. */
export interface FleetOptions {
  /** In order of the GPUs' numbers. */
  readonly kinds: readonly FleetKind[];
  readonly intervalNs: number;
  /** No decision is made from here on. */
  readonly untilNs: number;
  decide(counts: readonly GpuCount[], nowNs: number): ScalingDecision;
  readonly observers: readonly FleetObserver[];
}

/** What a fleet asks of the simulator. */
interface FleetPort {
  /** `ready` is to be called at `readyNs`, with `order`. */
  start(gpu: number, readyNs: number, order: number): void;
  /** The GPU gets no more actions. */
  drain(gpu: number): void;
  /** It has nothing left to do, and is gone. */
  stop(gpu: number): void;
  /** What stopping the GPU would cost: the one with the least is stopped. */
  lossOf(gpu: number): number;
}

/** Which GPUs of a simulated cluster are there, and what a scaler's decisions make of them. */
export class Fleet {
  private readonly state: Uint8Array;
  /** By GPU: which of its orders is the last; an earlier one was called off. */
  private readonly order: Int32Array;
  /** By GPU: when it was ordered the last time. */
  private readonly orderedNs: Float64Array;
  private readonly kindOf: number[];
  /** By GPU: actions that were sent and have no result. */
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

  /** When the first decision is made. */
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

  /** GPUs that drain and owe nothing any more are off. */
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

  /** Asks the scaler and does what it says. Returns when to ask again; Infinity: never. */
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

  /** The GPU has started. False: that order was called off. */
  ready(gpu: number, order: number, nowNs: number): boolean {
    if (this.order[gpu] !== order || this.state[gpu] !== GPU_STARTING) return false;
    this.set(gpu, GPU_ON, nowNs);
    return true;
  }

  /** The lowest number that is off; while one drains there may be none, and the next decision asks again. */
  private startOne(kind: number, nowNs: number): void {
    const gpu = this.state.findIndex((state, i) => state === GPU_OFF && this.kindOf[i] === kind);
    if (gpu < 0) return;
    this.set(gpu, GPU_STARTING, nowNs);
    this.orderedNs[gpu] = nowNs;
    this.port.start(gpu, nowNs + this.options.kinds[kind].startNs, ++this.order[gpu]);
  }

  /** One that starts is called off before one that is on drains. A GPU that was ordered lately stays. */
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

/** What a cluster loses with a GPU: the time to finish its work, and to load the models elsewhere that only it has. */
export function lossOf(cluster: Cluster, gpu: number): number {
  let lossNs = cluster.exec[gpu].outstandingNs;
  for (let model = 0; model < cluster.models.length; model++) {
    if (cluster.warm.has(model, gpu) && cluster.warm.count(model) === 1) lossNs += cluster.loadNs(model);
  }
  return lossNs;
}
