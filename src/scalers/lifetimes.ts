import type { GpuCount } from '../core/scaler.js';

/** GPUs of a kind that were ordered at one time. */
interface Order {
  readonly atNs: number;
  readonly gpus: number;
}

/** Keeps a scaler from stopping GPUs that were ordered lately: clouds bill a least time, and each start costs one more. */
export class Lifetimes {
  /** By kind, the oldest first. */
  private readonly orders: Order[][];

  /** `minLifetimesNs`: by kind, for how long a GPU is kept from its order on. */
  constructor(private readonly minLifetimesNs: readonly number[]) {
    this.orders = minLifetimesNs.map(() => []);
  }

  /** What is wanted, by kind, or as many more as are too young to stop; what is ordered with it counts from now on. */
  keep(wanted: readonly number[], counts: readonly GpuCount[], nowNs: number): number[] {
    return wanted.map((gpus, kind) => {
      const present = counts[kind].on + counts[kind].starting;
      if (gpus > present) {
        this.orders[kind].push({ atNs: nowNs, gpus: gpus - present });
        return gpus;
      }
      return Math.max(gpus, Math.min(present, this.young(kind, nowNs)));
    });
  }

  private young(kind: number, nowNs: number): number {
    const orders = this.orders[kind];
    const old = orders.findIndex(({ atNs }) => nowNs - atNs < this.minLifetimesNs[kind]);
    orders.splice(0, old < 0 ? orders.length : old);
    return orders.reduce((sum, { gpus }) => sum + gpus, 0);
  }
}
