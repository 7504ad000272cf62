import { type Estimate, studentT95 } from '../../report/statistics.js';

/** 95 % confidence interval of a difference of two means. */
interface Interval {
  readonly low: number;
  readonly high: number;
}

/**
 * How much larger the mean of `a` is than that of `b` (Welch's interval, degrees of freedom by Satterthwaite, rounded
 * down). One repetition says nothing about the spread: the interval is then infinite.
 */
export function difference(a: Estimate, b: Estimate): Interval {
  if (a.n < 2 || b.n < 2) return { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  const mean = a.mean - b.mean;
  const [va, vb] = [a.sd ** 2 / a.n, b.sd ** 2 / b.n];
  if (va + vb === 0) return { low: mean, high: mean };
  const degrees = (va + vb) ** 2 / (va ** 2 / (a.n - 1) + vb ** 2 / (b.n - 1));
  const half = studentT95(Math.max(1, Math.floor(degrees))) * Math.sqrt(va + vb);
  return { low: mean - half, high: mean + half };
}

/** Whether `a` is larger than `b` beyond the noise of both. */
export function isAbove(a: Estimate, b: Estimate): boolean {
  return difference(a, b).low > 0;
}
