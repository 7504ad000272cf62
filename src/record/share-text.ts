/** A share of GPU time as it was configured, for people: `33.3 %`, `50 %`. `part`: of 1. */
export function shareText(part: number): string {
  return `${Number((100 * part).toPrecision(3))} %`;
}
