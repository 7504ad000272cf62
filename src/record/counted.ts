import { NS_PER_S } from '../base/units.js';

/** What is counted begins at the end of the warm-up and ends at the nominal end of the workload, ns. */
export interface Counted {
  readonly warmupNs: number;
  readonly durationNs: number;
}

/** Counted time, ns. A trace ends 1 ns after its last arrival: one whose arrivals share an instant has no span, 0. */
export function spanNs({ warmupNs, durationNs }: Counted): number {
  return durationNs - warmupNs <= 1 ? 0 : durationNs - warmupNs;
}

/** Counted time, seconds; 0: there is no span. */
export function spanSeconds(counted: Counted): number {
  return spanNs(counted) / NS_PER_S;
}

/** The part of an action's time that is counted, ns. */
export function countedNs(counted: Counted, { beginNs, endNs }: { beginNs: number; endNs: number }): number {
  const toNs = counted.warmupNs + spanNs(counted);
  return Math.max(0, Math.min(endNs, toNs) - Math.max(beginNs, counted.warmupNs));
}

/** `part` of `whole`, or per unit of it; null: a share of nothing and a rate over no span are no figures. */
export function ratioOf(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}
