/** What a new value counts in the level, and in the variance around it. */
const NEW_SHARE = 0.3;
const NEW_VARIANCE_SHARE = 0.05;
/** A value so many standard deviations away is no noise: the level is there at once. */
const JUMP = 2.5;
/** Standard deviation as a share of the first value, as long as nothing else is known. */
const FIRST_DEVIATION = 0.3;
/** So many errors are kept: a few hours of decisions. */
const MOST_ERRORS = 720;
/** With fewer there is no distribution to speak of. */
const LEAST_ERRORS = 8;
/** Share of the level that it may be off as long as nothing better is known. */
const FIRST_ERROR = 0.5;

/**
 * Forecasts the value `ahead` steps from now: the level now, smoothed but for jumps, plus what such forecasts were short by in the
 * past, as a quantile of their errors. It needs no model of the traffic: bursts that come now and then are in the errors.
 * The steps before `ahead` are no matter of this forecast: those made for them have been made.
 */
export class Forecast {
  private level = Number.NaN;
  private variance = 0;
  /** Levels of the last `ahead` steps, oldest first. */
  private readonly levels: number[] = [];
  /** A ring. */
  private readonly errors: number[] = [];
  private next = 0;

  constructor(private readonly ahead: number) {}

  add(value: number): void {
    if (this.levels.length === this.ahead) this.keep(value - (this.levels.shift() as number));
    this.level = this.smoothed(value);
    this.levels.push(this.level);
  }

  /** Whether there were enough forecasts for `quantile` to go by their errors. */
  get isLearned(): boolean {
    return this.errors.length >= LEAST_ERRORS;
  }

  /** What is not exceeded with this probability, as far as the past tells; never less than the level. */
  quantile(probability: number): number {
    const { level, errors } = this;
    if (Number.isNaN(level)) return 0;
    if (!this.isLearned) return level * (1 + FIRST_ERROR);
    const sorted = [...errors].sort((a, b) => a - b);
    const at = Math.min(sorted.length - 1, Math.floor(probability * sorted.length));
    return level + Math.max(0, sorted[at]);
  }

  private smoothed(value: number): number {
    const { level, variance } = this;
    if (Number.isNaN(level)) {
      this.variance = (FIRST_DEVIATION * value) ** 2;
      return value;
    }
    const off = value - level;
    const isJump = Math.abs(off) > JUMP * Math.sqrt(variance);
    // A jump says little of the noise.
    this.variance += NEW_VARIANCE_SHARE * (Math.min(off * off, 9 * variance) - variance);
    return isJump ? value : level + NEW_SHARE * off;
  }

  private keep(error: number): void {
    if (this.errors.length < MOST_ERRORS) this.errors.push(error);
    else this.errors[this.next] = error;
    this.next = (this.next + 1) % MOST_ERRORS;
  }
}
