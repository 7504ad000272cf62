import { NS_PER_MS, NS_PER_S } from '../../../base/units.js';

/** Times in which a thread that never rests did not run. */
export interface Gaps {
  readonly longestNs: number;
  /** Gaps above 1 ms in a second. */
  readonly longPerS: number;
  /** Share of the time that gaps above 50 µs took: other programs or the hypervisor had this core. */
  readonly lostShare: number;
}

const GAP_NS = 50_000;
const LONG_GAP_NS = NS_PER_MS;
/** Compiled and warm by then. */
const WARM_UP_NS = 50 * NS_PER_MS;

/** Reads the clock without rest for `durationNs`. `nowNs` may give fractions. */
export function measureGaps(durationNs: number, nowNs: () => number): Gaps {
  spin(WARM_UP_NS, nowNs);
  return spin(durationNs, nowNs);
}

function spin(durationNs: number, nowNs: () => number): Gaps {
  const beginNs = nowNs();
  let lastNs = beginNs;
  let longestNs = 0;
  let long = 0;
  let lostNs = 0;
  while (lastNs - beginNs < durationNs) {
    const readNs = nowNs();
    const gapNs = readNs - lastNs;
    lastNs = readNs;
    if (gapNs < GAP_NS) continue;
    lostNs += gapNs;
    if (gapNs > longestNs) longestNs = gapNs;
    if (gapNs > LONG_GAP_NS) long++;
  }
  const tookNs = lastNs - beginNs;
  return { longestNs, longPerS: (long * NS_PER_S) / tookNs, lostShare: lostNs / tookNs };
}
