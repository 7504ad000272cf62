/** A configured share of GPU time, for people: `33.3 %`, `50 %`. `part`: of 1. */
export function shareText(part: number): string {
  return `${Number((100 * part).toPrecision(3))} %`;
}
