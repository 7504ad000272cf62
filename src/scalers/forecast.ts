/** What a new value counts in the level. */
const NEW_SHARE = 0.5;
/** So many errors are kept: a few hours of decisions. */
const MOST_ERRORS = 720;
/** With fewer there is no distribution to speak of. */
const LEAST_ERRORS = 8;
/** Share of the level that it may be off as long as nothing better is known. */
const FIRST_ERROR = 0.5;

/**
 * Forecasts the highest value of the next `ahead` steps: the level now, exponentially smoothed, plus what such forecasts were short by
 * in the past, as a quantile of their errors. It needs no model of the traffic: bursts that come now and then are in the errors.
 */
export class PeakForecast {
  private level = Number.NaN;
  /** Forecasts whose steps are not over, oldest first: level, and the highest value since. */
  private readonly open: { readonly level: number; highest: number; left: number }[] = [];
  /** Relative to the level; a ring. */
  private readonly errors: number[] = [];
  private next = 0;

  constructor(private readonly ahead: number) {}

  add(value: number): void {
    for (const one of this.open) {
      one.highest = Math.max(one.highest, value);
      one.left--;
    }
    const [first] = this.open;
    if (first !== undefined && first.left === 0) {
      this.open.shift();
      // Where there was nothing no factor tells what came.
      if (first.level > 0) this.keep(first.highest / first.level - 1);
    }
    this.level = Number.isNaN(this.level)
      ? value
      : Math.max(value, this.level + NEW_SHARE * (value - this.level));
    this.open.push({ level: this.level, highest: 0, left: this.ahead });
  }

  /** What is not exceeded with this probability, as far as the past tells. */
  peak(probability: number): number {
    if (Number.isNaN(this.level)) return 0;
    if (this.errors.length < LEAST_ERRORS) return this.level * (1 + FIRST_ERROR);
    const sorted = [...this.errors].sort((a, b) => a - b);
    const at = Math.min(sorted.length - 1, Math.floor(probability * sorted.length));
    return this.level * (1 + Math.max(0, sorted[at]));
  }

  private keep(error: number): void {
    if (this.errors.length < MOST_ERRORS) this.errors.push(error);
    else this.errors[this.next] = error;
    this.next = (this.next + 1) % MOST_ERRORS;
  }
}
