/** To a thousandth: more digits than anybody reads make a long answer. */
export function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
