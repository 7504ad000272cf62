import type { Random } from '../base/random/streams.js';
import { BaseSource, type StreamedSource } from './source.js';

/** A request still to be sent. */
interface Request {
  readonly timeNs: number;
  readonly model: number;
  readonly sloNs: number;
  readonly length: number;
  readonly user: number;
}

/**
 * Plays a workload with more or fewer requests of some models. With a factor of 4.5, a request is sent four or five
 * times, with equal probability: first at its own time, then at random times within a span as long as the gap before
 * it. So bursts and pauses of the model stay, and other requests do not change.
 */
export class BoostedSource extends BaseSource {
  readonly hasLengths: boolean;
  /** Latest first. */
  private readonly copies: Request[] = [];
  /** By model: time of its last request. */
  private readonly lastNs: Float64Array;

  constructor(
    private readonly inner: StreamedSource,
    /** By model. */
    private readonly factors: Float64Array,
    /** Copies come in [startNs, endNs). */
    startNs: number,
    private readonly endNs: number,
    private readonly random: Random,
  ) {
    super(inner.sloNs, inner.users);
    this.hasLengths = inner.hasLengths === true;
    this.lastNs = new Float64Array(factors.length).fill(startNs);
    this.advance();
  }

  override advance(): void {
    this.starved = this.inner.starved;
    if (this.starved) return;
    const next = this.next();
    if (next === null) return;
    this.timeNs = next.timeNs;
    this.model = next.model;
    this.sloNs = next.sloNs;
    this.length = next.length;
    this.user = next.user;
  }

  override async refill(): Promise<void> {
    await this.inner.refill();
    this.advance();
  }

  /** The earliest remaining request; null if more of the workload must be read, or if it is over. */
  private next(): Request | null {
    const { inner, copies } = this;
    for (;;) {
      const copy = copies.at(-1);
      if (copy !== undefined && copy.timeNs < inner.timeNs) return copies.pop()!;
      if (inner.timeNs === Number.POSITIVE_INFINITY) {
        this.timeNs = inner.timeNs;
        return null;
      }
      const { timeNs, model, sloNs, length, user } = inner;
      const request = { timeNs, model, sloNs, length, user };
      inner.advance();
      if (this.multiply(request)) return request;
      this.starved = inner.starved;
      if (this.starved) return null;
    }
  }

  /** Draws the copies of a request; false if not even the request itself is sent. */
  private multiply(request: Request): boolean {
    const { model, timeNs } = request;
    const factor = this.factors[model]!;
    if (factor === 1) return true;
    const count = Math.floor(factor) + (factor % 1 > 0 && this.random() < factor % 1 ? 1 : 0);
    const gapNs = timeNs - this.lastNs[model]!;
    this.lastNs[model] = timeNs;
    for (let i = 1; i < count; i++)
      this.add({ ...request, timeNs: timeNs + Math.floor(this.random() * gapNs) });
    return count > 0;
  }

  private add(copy: Request): void {
    if (copy.timeNs >= this.endNs) return;
    const { copies } = this;
    let [low, high] = [0, copies.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (copies[middle]!.timeNs > copy.timeNs) low = middle + 1;
      else high = middle;
    }
    copies.splice(low, 0, copy);
  }
}
