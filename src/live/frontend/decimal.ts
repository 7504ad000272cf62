/** Powers of ten that a double holds exactly; also as sums of two doubles of 26 bits each. */
const MOST_EXACT = 22;
const POWERS = Float64Array.from({ length: MOST_EXACT + 1 }, (_, i) => Number(`1e${i}`));
const UPPER = POWERS.map(upperHalf);
const LOWER = POWERS.map((power, i) => power - UPPER[i]);

/** Digits of a whole number that a double always holds exactly. */
const EXACT_DIGITS = 15;
/** Far above how wrong the rest of a division can be, relative to itself, and far below half a unit in the last place. */
const DOUBT = 2 ** -45;

/** Digits in each of the two parts that `decimal` takes. */
export const PART_DIGITS = 9;

/**
 * The double nearest to (high · 10^lowDigits + low) · 10^exponent, as `Number` has it of the same digits; NaN: that takes more
 * than this arithmetic. `high` has `highDigits` digits without leading zeros, and `low` is 0 unless `highDigits` are
 * `PART_DIGITS`. Whole numbers, at least 0.
 *
 * Of up to 15 digits both number and power are exact, so that one operation rounds once (W. D. Clinger, PLDI 1990). Of more, the
 * rest of the division is exact, too (T. J. Dekker, Numerische Mathematik 18, 1971): added to the quotient it gives the value
 * to some 100 bits, and it only remains to see that rounding does not depend on what comes after these.
 */
export function decimal(
  high: number,
  highDigits: number,
  low: number,
  lowDigits: number,
  exponent: number,
): number {
  if (highDigits + lowDigits <= EXACT_DIGITS) {
    const whole = high * POWERS[lowDigits] + low;
    if (exponent === 0) return whole;
    if (exponent < 0) return exponent >= -MOST_EXACT ? whole / POWERS[-exponent] : Number.NaN;
    return exponent <= MOST_EXACT ? whole * POWERS[exponent] : Number.NaN;
  }
  if (exponent > 0 || exponent < -MOST_EXACT) return Number.NaN;
  const first = high * POWERS[lowDigits];
  const whole = first + low;
  const power = POWERS[-exponent];
  const quotient = whole / power;
  // quotient · power = product + error, exactly.
  const product = quotient * power;
  const upper = upperHalf(quotient);
  const lower = quotient - upper;
  const powerUpper = UPPER[-exponent];
  const powerLower = LOWER[-exponent];
  const error = lower * powerLower - (product - upper * powerUpper - lower * powerUpper - upper * powerLower);
  const rest = (whole - product - error + (low - (whole - first))) / power;
  const doubt = rest * DOUBT;
  const value = quotient + (rest - doubt);
  return value === quotient + (rest + doubt) ? value : Number.NaN;
}

/** The first 26 bits of a double. */
function upperHalf(value: number): number {
  const spread = value * (2 ** 27 + 1);
  return spread - (spread - value);
}
