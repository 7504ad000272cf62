/** Weight of a new value in the level, and in the variance around it. */
const NEW_SHARE = 0.3;
const NEW_VARIANCE_SHARE = 0.05;
/** Number of standard deviations beyond which a value is not noise, and the level moves there at once. */
const JUMP = 2.5;
/** Initial standard deviation, as a share of the first value. */
const FIRST_DEVIATION = 0.3;
/** Number of errors kept: a few hours of decisions. */
const MOST_ERRORS = 720;
/** Minimum number of errors that make a distribution. */
const LEAST_ERRORS = 8;
/** Initial error, as a share of the level. */
const FIRST_ERROR = 0.5;

/**
 * Forecasts the value `ahead` steps from now: the current level, smoothed except for jumps, plus a quantile of the
 * errors of past forecasts. It needs no model of the traffic: occasional bursts are in the errors. Steps before `ahead`
 * were covered by earlier forecasts.
 */
export class Forecast {
  private level = Number.NaN;
  private variance = 0;
  /** Levels of the last `ahead` steps, oldest first. */
  private readonly levels: number[] = [];
  /** Ring. */
  private readonly errors: number[] = [];
  private next = 0;

  constructor(private readonly ahead: number) {}

  add(value: number): void {
    if (this.levels.length === this.ahead) this.keep(value - (this.levels.shift() as number));
    this.level = this.smoothed(value);
    this.levels.push(this.level);
  }

  /** True if there are enough errors for `quantile` to use. */
  get isLearned(): boolean {
    return this.errors.length >= LEAST_ERRORS;
  }

  /** Value not exceeded with this probability, judging by the past; never below the level. */
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
    // Limited, because a jump is not noise.
    this.variance += NEW_VARIANCE_SHARE * (Math.min(off * off, 9 * variance) - variance);
    return isJump ? value : level + NEW_SHARE * off;
  }

  private keep(error: number): void {
    if (this.errors.length < MOST_ERRORS) this.errors.push(error);
    else this.errors[this.next] = error;
    this.next = (this.next + 1) % MOST_ERRORS;
  }
}
