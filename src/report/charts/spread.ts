/**
 * Positions for labels that belong at `wanted` and need `gap` between neighbours, within [low, high]: each label moves
 * as little as a single sweep allows, and their order is kept. Labels that cannot all fit share the range evenly.
 */
export function spread(wanted: readonly number[], gap: number, low: number, high: number): number[] {
  const order = wanted
    .map((_, i) => i)
    .sort((a, b) => (wanted[a] as number) - (wanted[b] as number) || a - b);
  const space = Math.min(gap, order.length > 1 ? (high - low) / (order.length - 1) : gap);
  const placed = order.map((i) => Math.min(high, Math.max(low, wanted[i] as number)));
  for (let k = 1; k < placed.length; k++)
    placed[k] = Math.max(placed[k] as number, (placed[k - 1] as number) + space);
  for (let k = placed.length - 1, limit = high; k >= 0; k--, limit -= space) {
    placed[k] = Math.min(placed[k] as number, limit);
  }
  const result = new Array<number>(wanted.length);
  order.forEach((i, k) => {
    result[i] = placed[k] as number;
  });
  return result;
}
