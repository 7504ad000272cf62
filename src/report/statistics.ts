/** Mean of a few repetitions with what is known of its precision. */
export interface Estimate {
  /** Number of repetitions. */
  readonly n: number;
  readonly mean: number;
  /** Sample standard deviation; 0 for one repetition. */
  readonly sd: number;
  /** 95 % confidence interval of the mean; equal to the mean for one repetition. */
  readonly low: number;
  readonly high: number;
}

/** Two-sided 95 % quantiles of Student's t distribution for 1 to 30 degrees of freedom (any statistics table). */
const T_95 = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/** Mean, spread and confidence interval. `values` must not be empty. */
export function estimate(values: readonly number[]): Estimate {
  const n = values.length;
  const mean = meanOf(values);
  if (n < 2) return { n, mean, sd: 0, low: mean, high: mean };
  const sd = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1));
  const half = (studentT95(n - 1) * sd) / Math.sqrt(n);
  return { n, mean, sd, low: mean - half, high: mean + half };
}

/** `values` must not be empty. */
export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Factor of the standard error in a 95 % confidence interval. Beyond the table: right to 0.1 %. */
export function studentT95(degreesOfFreedom: number): number {
  return T_95[degreesOfFreedom - 1] ?? 1.96 + 2.45 / degreesOfFreedom;
}
