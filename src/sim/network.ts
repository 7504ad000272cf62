import { exponential } from '../base/random/distributions.js';
import type { Random } from '../base/random/streams.js';

export interface NetworkOptions {
  /** Constant part of the one-way delay. */
  readonly delayNs: number;
  /** Mean of the exponential part on top. */
  readonly jitterNs: number;
}

export const NO_DELAY: NetworkOptions = { delayNs: 0, jitterNs: 0 };

/**
 * Links between controller and workers. Each delays messages and, like the stream that it models, never reorders them.
 */
export class Network {
  /** False if messages arrive the instant they are sent, and no earlier one is in transit. */
  delays: boolean;
  /** By link: arrival of the last message; 2·gpu to the worker, 2·gpu + 1 to the controller. */
  private readonly lastNs: Float64Array;

  constructor(
    gpus: number,
    private options: NetworkOptions,
    private readonly random: Random,
  ) {
    this.delays = isSlow(options);
    this.lastNs = new Float64Array(gpus * 2);
  }

  /** Changes the delays of future messages; those in transit arrive as before, ahead of any later one. */
  change(options: NetworkOptions): void {
    this.options = options;
    this.delays ||= isSlow(options);
  }

  /** Arrival time at the GPU's worker of a message that the controller sends now. */
  toWorker(gpu: number, nowNs: number): number {
    return this.arrival(gpu * 2, nowNs);
  }

  /** Arrival time at the controller of a message that the GPU's worker sends now. */
  toController(gpu: number, nowNs: number): number {
    return this.arrival(gpu * 2 + 1, nowNs);
  }

  private arrival(link: number, nowNs: number): number {
    const { delayNs, jitterNs } = this.options;
    const extraNs = jitterNs > 0 ? Math.round(exponential(this.random) * jitterNs) : 0;
    const arrivalNs = Math.max(this.lastNs[link], nowNs + delayNs + extraNs);
    this.lastNs[link] = arrivalNs;
    return arrivalNs;
  }
}

function isSlow({ delayNs, jitterNs }: NetworkOptions): boolean {
  return delayNs > 0 || jitterNs > 0;
}
