import type { FleetSpace } from './fleet-space.js';
import type { Verdict } from './judge.js';

/** Environment of a fleet search; repeated calls return the same. */
export interface FleetPort {
  /** True if no scheduler could meet every target with the fleet, nor with fewer GPUs; null: there are no bounds. */
  readonly ruledOut: ((index: number) => Promise<boolean>) | null;
  /** Runs the fleet and returns whether it meets every target; `never`: no fleet can. */
  judge(index: number): Promise<Verdict | 'never'>;
}

interface FleetFound {
  /** The cheapest fleet that meets every target; null if none does. */
  readonly answer: number | null;
  /** Number of fleets ruled out by upper bounds. */
  readonly ruledOut: number;
}

/** Number of fleets run in parallel. Not the number of threads, on which the result must not depend. */
const BATCH = 8;
/** Number of fleets among which the next bound is chosen. */
const MOST_COMPARED = 64;

/**
 * Finds the cheapest fleet that meets its targets. At equal cost, the one with fewer GPUs counts as cheaper.
 *
 * Fleets run from the cheapest on until one meets. Many policies serve less with more GPUs if some are slow, so a fleet
 * that misses says nothing about smaller ones. Only fleets with which no scheduler could meet the targets are skipped.
 */
export async function searchFleets(space: FleetSpace, port: FleetPort): Promise<FleetFound> {
  const order = [...space.fleets.keys()];
  const open = port.ruledOut === null ? order : await withinBounds(order, space, port.ruledOut);
  const ruledOut = order.length - open.length;
  for (let from = 0; from < open.length; from += BATCH) {
    const batch = open.slice(from, from + BATCH);
    const verdicts = await Promise.all(batch.map((index) => port.judge(index)));
    if (verdicts.includes('yes')) return { answer: batch[verdicts.indexOf('yes')]!, ruledOut };
    if (verdicts.includes('never')) break;
  }
  return { answer: null, ruledOut };
}

/**
 * Fleets that bounds do not rule out. Ruling out a fleet rules out all with no more GPUs of any kind. If a bound does
 * not rule out a fleet, larger ones are not bounded: they are seldom ruled out where a smaller one is not.
 */
async function withinBounds(
  order: readonly number[],
  space: FleetSpace,
  ruledOut: (index: number) => Promise<boolean>,
): Promise<readonly number[]> {
  const out = new Set<number>();
  let open = order;
  while (open.length > 0) {
    const chosen = mostTelling(open, space);
    const isOut = await ruledOut(chosen);
    const settled = (index: number) =>
      isOut ? space.isWithin(index, chosen) : space.isWithin(chosen, index);
    if (isOut) for (const index of order) if (settled(index)) out.add(index);
    open = open.filter((index) => !settled(index));
  }
  return order.filter((index) => !out.has(index));
}

/** Fleet with the bound that settles the most open fleets in the worse of its two cases. */
function mostTelling(open: readonly number[], space: FleetSpace): number {
  const stride = Math.ceil(open.length / MOST_COMPARED);
  const settledBy = (index: number) => {
    const ifOut = open.filter((other) => space.isWithin(other, index)).length;
    const ifNot = open.filter((other) => space.isWithin(index, other)).length;
    return Math.min(ifOut, ifNot);
  };
  const compared = open.filter((_, place) => place % stride === 0).map((index) => [index, settledBy(index)]);
  return compared.reduce((best, next) => (next[1]! > best[1]! ? next : best))[0]!;
}
