import { NS_PER_S } from '../../base/units.js';

/** How far back a GPU counts as busy. */
const BUSY_NS = NS_PER_S;

/** How busy the EXEC lanes of GPUs were of late. */
export class Busyness {
  /** By GPU: time that its lane was busy, as of when. */
  private readonly busyNs: Float64Array;
  private readonly atNs: Float64Array;
  /** The same as of the listing under way. */
  private readonly nowBusyNs: Float64Array;
  /** All GPUs as they were ordered last. Little changes from one listing to the next, so few are moved. */
  private readonly order: Int32Array;

  constructor(gpus: number) {
    this.busyNs = new Float64Array(gpus);
    this.atNs = new Float64Array(gpus);
    this.nowBusyNs = new Float64Array(gpus);
    this.order = Int32Array.from({ length: gpus }, (_, gpu) => gpu);
  }

  ran(gpu: number, beginNs: number, endNs: number): void {
    this.busyNs[gpu] = this.busyNs[gpu] * Math.exp((this.atNs[gpu] - endNs) / BUSY_NS) + endNs - beginNs;
    this.atNs[gpu] = endNs;
  }

  /** Fills `list` with GPUs that are wanted, the least busy first, then by number; returns how many there are. */
  list(list: Int32Array, nowNs: number, isWanted: (gpu: number) => boolean): number {
    const { order, busyNs, atNs, nowBusyNs } = this;
    let count = 0;
    this.renew(nowNs);
    for (let i = 0; i < order.length; i++) {
      const gpu = order[i];
      if (!isWanted(gpu)) continue;
      busyNs[gpu] = nowBusyNs[gpu];
      atNs[gpu] = nowNs;
      list[count++] = gpu;
    }
    return count;
  }

  private renew(nowNs: number): void {
    const { order, busyNs, atNs, nowBusyNs } = this;
    for (let gpu = 0; gpu < order.length; gpu++)
      nowBusyNs[gpu] = busyNs[gpu] * Math.exp((atNs[gpu] - nowNs) / BUSY_NS);
    for (let i = 1; i < order.length; i++) {
      const gpu = order[i];
      let at = i;
      for (; at > 0 && this.isBusier(order[at - 1], gpu); at--) order[at] = order[at - 1];
      order[at] = gpu;
    }
  }

  private isBusier(a: number, b: number): boolean {
    const { nowBusyNs } = this;
    return nowBusyNs[a] > nowBusyNs[b] || (nowBusyNs[a] === nowBusyNs[b] && a > b);
  }
}
