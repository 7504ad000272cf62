import type { PlannedCell } from './plan.js';
import type { CellJob } from './pool.js';
import type { CellTask } from './run-cell.js';

/** One of several processes that share a sweep. */
export interface Shard {
  /** From 1 to `count`. */
  readonly index: number;
  readonly count: number;
}

/** What can be run by itself and is kept under a key of its own: a cell, or a bound that cells share. */
export interface Unit {
  /** What messages call it. */
  readonly id: string;
  readonly task: CellTask;
  readonly job: CellJob;
}

/**
 * All that a sweep has to run, each once, in an order that only depends on the keys: so it is the same on every
 * machine, and neighbors in the grid, whose lengths are alike, do not come one after the other.
 */
export function unitsOf(planned: readonly PlannedCell[]): Unit[] {
  const units = new Map<string, Unit>();
  for (const plan of planned) {
    if (plan.task === null) continue;
    const { id } = plan.cell;
    units.set(plan.task.key, { id, task: plan.task, job: 'runCell' });
    if (plan.bound === undefined || units.has(plan.bound.key)) continue;
    units.set(plan.bound.key, { id: `the bound of ${id}`, task: plan.bound, job: 'boundCell' });
  }
  return [...units].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, unit]) => unit);
}

/** The part of a shard: every unit belongs to exactly one, and their numbers differ by at most one. */
export function partOf(units: readonly Unit[], { index, count }: Shard): Unit[] {
  return units.filter((_, i) => i % count === index - 1);
}
