import type { CellStore } from './cell-store.js';
import type { CellRunner } from './pool.js';
import type { CellOutcome } from './run-cell.js';
import type { Unit } from './shard.js';

/** Called for each unit as soon as it is known; `reused`: its result was there. */
export type OnUnit = (unit: Unit, outcome: CellOutcome | 'reused') => void;

/** Runs units that have no stored result, `threads` at the same time, and stores each as it finishes. */
export async function runUnits(
  units: readonly Unit[],
  store: CellStore,
  runner: CellRunner,
  threads: number,
  onUnit: OnUnit,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let unit = units[next++]; unit !== undefined; unit = units[next++]) {
      // Looked for only now: another process may have finished it meanwhile.
      if (isStored(unit, store)) onUnit(unit, 'reused');
      else onUnit(unit, await found(unit, store, runner));
    }
  };
  await Promise.all(Array.from({ length: threads }, lane));
}

async function found({ task, job }: Unit, store: CellStore, runner: CellRunner): Promise<CellOutcome> {
  const outcome = await runner.run(task, job);
  if (outcome.status === 'failed') return outcome;
  if (job === 'runCell') store.write(task.key, outcome.json);
  else store.writeBound(task.key, outcome.json);
  return outcome;
}

/** Whether a unit has finished. */
export function isStored({ task, job }: Unit, store: CellStore): boolean {
  return (job === 'runCell' ? store.read(task) : store.readBound(task)) !== null;
}
