import { NS_PER_MS, NS_PER_S } from '../../base/units.js';

const PERIOD_NS = 50 * NS_PER_MS;
/** Number of periods averaged: 5 s. */
const PERIODS = 100;
/** One more for the current period. */
const SLOTS = PERIODS + 1;

/** Requests per second of each model, counted over the last 100 periods of 50 ms. A model's first period is that of its first request. */
export class RecentRates {
  /** Ring of periods for each model. */
  private readonly counts: Uint32Array;
  /** By model: sum over completed periods. */
  private readonly sums: Float64Array;
  /** By model: number of its first period, −1 before its first request; and of the current one. */
  private readonly first: Float64Array;
  private readonly present: Float64Array;

  constructor(models: number) {
    this.counts = new Uint32Array(models * SLOTS);
    this.sums = new Float64Array(models);
    this.first = new Float64Array(models).fill(-1);
    this.present = new Float64Array(models);
  }

  arrived(model: number, nowNs: number): void {
    if (this.first[model] < 0) {
      this.first[model] = Math.floor(nowNs / PERIOD_NS);
      this.present[model] = this.first[model];
    }
    this.advance(model, nowNs);
    this.counts[this.slot(model)]++;
  }

  /** Undefined until a period is complete. */
  rps(model: number, nowNs: number): number | undefined {
    if (this.first[model] < 0) return undefined;
    this.advance(model, nowNs);
    const periods = Math.min(PERIODS, this.present[model] - this.first[model]);
    return periods === 0 ? undefined : (this.sums[model] * NS_PER_S) / (periods * PERIOD_NS);
  }

  forget(model: number): void {
    this.counts.fill(0, model * SLOTS, (model + 1) * SLOTS);
    this.sums[model] = 0;
    this.first[model] = -1;
  }

  private advance(model: number, nowNs: number): void {
    const { counts, sums, present } = this;
    const period = Math.floor(nowNs / PERIOD_NS);
    // After more than a ring's length nothing remains.
    const steps = Math.min(period - present[model], SLOTS + 1);
    for (let i = 0; i < steps; i++) {
      sums[model] += counts[this.slot(model)];
      present[model]++;
      sums[model] -= counts[this.slot(model)];
      counts[this.slot(model)] = 0;
    }
    present[model] = period;
  }

  private slot(model: number): number {
    return model * SLOTS + (this.present[model] % SLOTS);
  }
}
