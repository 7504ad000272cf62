/**
 * Converts numbers to IEEE 754 binary16 and back. Rounds to nearest, ties to even, directly from the double: via
 * binary32 some values would be rounded twice.
 */
export function toHalf(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size >= OVERFLOW) return sign | 0x7c00;
  if (size < SMALLEST_NORMAL) return sign | roundToEven(size * 2 ** 24);
  double[0] = size;
  const exponent = (words[1] >>> 20) - 1023;
  // A mantissa rounded up to 2048 carries into the exponent, as it should.
  return sign | (((exponent + 15) << 10) + roundToEven(size * 2 ** (10 - exponent)) - 1024);
}

export function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 31;
  const mantissa = bits & 1023;
  if (exponent === 0) return sign * mantissa * 2 ** -24;
  if (exponent === 31) return mantissa === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + mantissa / 1024) * 2 ** (exponent - 15);
}

/** Halfway between the largest half, 65504, and its would-be successor. */
const OVERFLOW = 65520;
const SMALLEST_NORMAL = 2 ** -14;

const double = new Float64Array(1);
/** Bits of the double; the upper word is second on every machine that Node supports. */
const words = new Uint32Array(double.buffer);

function roundToEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below;
}
