/** Number of bins of a latency histogram; the last one takes everything longer. */
export const LATENCY_BINS = 65;
/** End of the first bin; each further one ends a fourth of an octave later. */
const FIRST_END_NS = 100_000;
const PER_OCTAVE = 4;
const NS_PER_MS = 1e6;

/** Upper end of a bin, ns; Infinity for the last. */
export function latencyBinEndNs(bin: number): number {
  return bin < LATENCY_BINS - 1 ? FIRST_END_NS * 2 ** (bin / PER_OCTAVE) : Number.POSITIVE_INFINITY;
}

export function latencyBinOf(latencyNs: number): number {
  const bin = Math.ceil(Math.log2(Math.max(latencyNs, 1) / FIRST_END_NS) * PER_OCTAVE);
  return Math.min(Math.max(bin, 0), LATENCY_BINS - 1);
}

/** Upper ends of all bins except the last, which has none, ms. */
export function latencyBinEndsMs(): number[] {
  return Array.from({ length: LATENCY_BINS - 1 }, (_, bin) => latencyBinEndNs(bin) / NS_PER_MS);
}

/** Cumulative percentage at each bin except the last; null: nothing is counted. */
export function cumulativePercent(counts: Uint32Array): (number | null)[] {
  const total = counts.reduce((sum, count) => sum + count, 0);
  let below = 0;
  return Array.from(counts.subarray(0, LATENCY_BINS - 1), (count) => {
    below += count;
    return total === 0 ? null : (100 * below) / total;
  });
}
