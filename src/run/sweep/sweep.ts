import type { BoundFigures, CellResult, SweepCell, SweepResults } from '../../record/results.js';
import type { CellStore } from './cell-store.js';
import type { GridCell } from './grid.js';
import type { PlannedCell } from './plan.js';
import type { CellRunner } from './pool.js';
import type { CellOutcome, CellTask } from './run-cell.js';

/** What is swept, for the record in `results.json`. */
export type SweepHeader = Omit<SweepResults, 'version' | 'cells'>;

/** Called for each cell as soon as it is known; `reused`: its result was there from an earlier run. */
export type OnCell = (cell: SweepCell, reused: boolean) => void;

/**
 * Runs the cells that have no stored result, stores each as it finishes, and gathers all of them in
 * the order of the grid: the results do not depend on threads or interruptions. A bound that cells share is found
 * once; where there is none to be found, they fail as it did.
 */
export async function runSweep(
  header: SweepHeader,
  planned: readonly PlannedCell[],
  store: CellStore,
  runner: CellRunner,
  onCell: OnCell,
): Promise<SweepResults> {
  const boundOf = sharedBounds(store, runner);
  const cells = await Promise.all(
    planned.map(async (plan) => {
      const { cell, task } = plan;
      if (task === null) return reported(onCell, toCell(cell, plan.refused), false);
      const bound = plan.bound === undefined ? undefined : boundOf(plan.bound);
      const stored = store.read(task);
      if (stored !== null) return reported(onCell, bounded(finished(cell, stored), await bound), true);
      const outcome = await runner.run(task);
      if (outcome.status === 'done') store.write(task.key, outcome.json);
      return reported(onCell, bounded(toCell(cell, outcome), await bound), false);
    }),
  );
  return { version: 3, ...header, cells };
}

type BoundOutcome = BoundFigures | Extract<CellOutcome, { status: 'failed' }>;

function sharedBounds(store: CellStore, runner: CellRunner): (task: CellTask) => Promise<BoundOutcome> {
  const known = new Map<string, Promise<BoundOutcome>>();
  const find = async (task: CellTask): Promise<BoundOutcome> => {
    const stored = store.readBound(task);
    if (stored !== null) return stored;
    const outcome = await runner.run(task, 'boundCell');
    if (outcome.status === 'failed') return outcome;
    store.writeBound(task.key, outcome.json);
    return JSON.parse(outcome.json) as BoundFigures;
  };
  return (task) => {
    const found = known.get(task.key) ?? find(task);
    known.set(task.key, found);
    return found;
  };
}

function bounded(cell: SweepCell, bound: BoundOutcome | undefined): SweepCell {
  if (bound === undefined || cell.status === 'failed') return cell;
  if (!('status' in bound)) return { ...cell, result: { ...cell.result, bound } };
  const { id, values, seed } = cell;
  return { id, values, seed, ...bound };
}

function reported(onCell: OnCell, cell: SweepCell, reused: boolean): SweepCell {
  onCell(cell, reused);
  return cell;
}

function toCell(cell: GridCell, outcome: CellOutcome): SweepCell {
  if (outcome.status === 'done') return finished(cell, JSON.parse(outcome.json) as CellResult);
  const { id, values, seed } = cell;
  return { id, values, seed, ...outcome };
}

function finished({ id, values, seed }: GridCell, result: CellResult): SweepCell {
  return { id, values, seed, status: 'done', result };
}
