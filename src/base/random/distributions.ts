import type { Random } from './streams.js';

/** Exponential with mean 1. */
export function exponential(random: Random): number {
  return -Math.log(1 - random());
}

/** Standard normal (Box and Muller; the second value is dropped so that the function has no state). */
export function normal(random: Random): number {
  const radius = Math.sqrt(2 * exponential(random));
  return radius * Math.cos(2 * Math.PI * random());
}

/**
 * Gamma with the given shape and mean `shape` (Marsaglia and Tsang 2000; shapes below 1 by the
 * usual power of a uniform).
 */
export function gamma(random: Random, shape: number): number {
  if (shape < 1) return gamma(random, shape + 1) * (1 - random()) ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = normal(random);
    const v = (1 + c * x) ** 3;
    if (v <= 0) continue;
    const u = 1 - random();
    if (Math.log(u) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
  }
}
