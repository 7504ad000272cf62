import type { Windows } from './requests.js';

/** Price of GPU time that varies between slices of a run; piecewise constant. */
export class PriceCurve {
  /** Price per ns within each slice; call `settle` after changes. */
  readonly perNs: Float64Array;
  /** Time of all GPUs in each slice in which a request's window is open; nothing runs otherwise. */
  readonly openNs: Float64Array;
  readonly endNs: number;
  /** Start of the span found by the last `cheapest`. */
  cheapestNs = 0;
  private readonly beginNs: number;
  /** Total price of all time before each slice. */
  private readonly paid: Float64Array;

  constructor(
    windows: Windows,
    private readonly sliceNs: number,
    speed: number,
  ) {
    this.endNs = windows.deadlineNs.reduce((last, deadline) => Math.max(last, deadline), 0);
    this.beginNs = windows.arrivalNs[0];
    // One more, for spans that end with the last slice.
    const slices = Math.floor((this.endNs - this.beginNs) / sliceNs) + 2;
    this.perNs = new Float64Array(slices);
    this.paid = new Float64Array(slices);
    this.openNs = new Float64Array(slices);
    forEachOpen(windows, (fromNs, toNs) => this.spread(fromNs, toNs, this.openNs, speed));
  }

  /** Raises the price from `fromNs` to `toNs` to at least `price`. */
  raise(fromNs: number, toNs: number, price: number): void {
    const last = Math.floor((toNs - this.beginNs) / this.sliceNs);
    for (let j = Math.floor((fromNs - this.beginNs) / this.sliceNs); j <= last; j++)
      this.perNs[j] = Math.max(this.perNs[j], price);
  }

  /** Applies changes to `perNs`; returns the total price of all open time. */
  settle(): number {
    const { perNs, paid, sliceNs } = this;
    for (let j = 1; j < paid.length; j++) paid[j] = paid[j - 1] + perNs[j - 1] * sliceNs;
    return perNs.reduce((sum, price, j) => sum + price * this.openNs[j], 0);
  }

  /** Minimum price of a span of `execNs` that begins in [fromNs, toNs]. */
  cheapest(fromNs: number, toNs: number, execNs: number): number {
    const { sliceNs } = this;
    this.cheapestNs = fromNs;
    let least = this.price(fromNs, execNs);
    least = this.cheaper(toNs, execNs, least);
    // In between the price is linear, except where the span's begin or end moves to the next slice.
    for (let at = this.nextSlice(fromNs); at < toNs; at += sliceNs) least = this.cheaper(at, execNs, least);
    for (let at = this.nextSlice(fromNs + execNs) - execNs; at < toNs; at += sliceNs)
      least = this.cheaper(at, execNs, least);
    return least;
  }

  /** Lowest price per ns from `fromNs` to `toNs`. */
  least(fromNs: number, toNs: number): number {
    const last = Math.min(this.perNs.length - 1, Math.floor((toNs - this.beginNs) / this.sliceNs));
    let least = Number.POSITIVE_INFINITY;
    for (let j = Math.floor((fromNs - this.beginNs) / this.sliceNs); j <= last; j++)
      least = Math.min(least, this.perNs[j]);
    return least;
  }

  /** Adds the time from `fromNs` to `toNs`, times `factor`, to the slices it covers. */
  spread(fromNs: number, toNs: number, slices: Float64Array, factor: number): void {
    const { beginNs, sliceNs } = this;
    const last = Math.floor((toNs - beginNs) / sliceNs);
    let at = fromNs;
    for (let j = Math.floor((fromNs - beginNs) / sliceNs); j < last; j++) {
      const next = beginNs + (j + 1) * sliceNs;
      slices[j] += factor * (next - at);
      at = next;
    }
    slices[last] += factor * (toNs - at);
  }

  private cheaper(startNs: number, execNs: number, least: number): number {
    const price = this.price(startNs, execNs);
    if (price >= least) return least;
    this.cheapestNs = startNs;
    return price;
  }

  private price(startNs: number, execNs: number): number {
    return this.until(startNs + execNs) - this.until(startNs);
  }

  private until(timeNs: number): number {
    const at = (timeNs - this.beginNs) / this.sliceNs;
    const j = Math.floor(at);
    return this.paid[j] + (at - j) * this.sliceNs * this.perNs[j];
  }

  private nextSlice(timeNs: number): number {
    return this.beginNs + (Math.floor((timeNs - this.beginNs) / this.sliceNs) + 1) * this.sliceNs;
  }
}

/** Calls `visit` for each span of time with at least one open window. */
export function forEachOpen(
  { count, arrivalNs, deadlineNs }: Windows,
  visit: (fromNs: number, toNs: number) => void,
): void {
  let untilNs = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < count; i++) {
    if (deadlineNs[i] <= untilNs) continue;
    visit(Math.max(untilNs, arrivalNs[i]), deadlineNs[i]);
    untilNs = deadlineNs[i];
  }
}
