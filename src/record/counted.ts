import { NS_PER_S } from '../base/units.js';

/** Counted part of a run: from the end of the warm-up to the nominal end of the workload, ns. */
export interface Counted {
  readonly warmupNs: number;
  readonly durationNs: number;
}

/** Counted time, ns. A trace ends 1 ns after its last arrival; if all arrivals share an instant, the span is 0. */
export function spanNs({ warmupNs, durationNs }: Counted): number {
  return durationNs - warmupNs <= 1 ? 0 : durationNs - warmupNs;
}

/** Counted time, seconds; 0 if there is no span. */
export function spanSeconds(counted: Counted): number {
  return spanNs(counted) / NS_PER_S;
}

/** Counted part of an action's time, ns. */
export function countedNs(counted: Counted, { beginNs, endNs }: { beginNs: number; endNs: number }): number {
  const toNs = counted.warmupNs + spanNs(counted);
  return Math.max(0, Math.min(endNs, toNs) - Math.max(beginNs, counted.warmupNs));
}

/** Ratio of `part` to `whole`; null if `whole` is 0: a share of nothing or a rate over no span. */
export function ratioOf(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}
