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
 * The links between controller and workers: each delays a message, and like the stream that it models never
 * lets one overtake another.
 */
export class Network {
  /** False: messages arrive in the instant they are sent, and no earlier one is on its way. */
  delays: boolean;
  /** Arrival of the last message on each link: 2·gpu to the worker, 2·gpu + 1 to the controller. */
  private readonly lastNs: Float64Array;

  constructor(
    gpus: number,
    private options: NetworkOptions,
    private readonly random: Random,
  ) {
    this.delays = isSlow(options);
    this.lastNs = new Float64Array(gpus * 2);
  }

  /** From now on messages take this long; those on their way arrive as they would have, before any later one. */
  change(options: NetworkOptions): void {
    this.options = options;
    this.delays ||= isSlow(options);
  }

  /** When a message that the controller sends now reaches the GPU's worker. */
  toWorker(gpu: number, nowNs: number): number {
    return this.arrival(gpu * 2, nowNs);
  }

  /** When a message that the GPU's worker sends now reaches the controller. */
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
