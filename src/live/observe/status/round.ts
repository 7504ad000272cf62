/** To a thousandth: more digits only make the answer longer. */
export function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
