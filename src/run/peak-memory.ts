/** Largest resident memory of this process so far. */
export function peakRssBytes(): number {
  return process.resourceUsage().maxRSS * 1024;
}
