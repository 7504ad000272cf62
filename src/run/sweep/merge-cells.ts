import type { VariedKey } from '../../record/results.js';
import { cellId } from './grid.js';
import type { PlannedCell } from './plan.js';

/**
 * Makes one cell of those that differ only in a key that changes nothing, such as an option that their policy does not
 * have: the same experiment with the same seed is the same run. The cell that remains does not have the key. A key whose
 * values change something for some of its values stays in all of them.
 */
export function mergeCells(planned: readonly PlannedCell[], vary: readonly VariedKey[]): PlannedCell[] {
  return vary
    .filter(({ values }) => values.length > 1)
    .reduce<PlannedCell[]>((cells, varied) => mergeOver(varied, cells), [...planned]);
}

function mergeOver({ key, values }: VariedKey, cells: readonly PlannedCell[]): PlannedCell[] {
  const groups = new Map<string, PlannedCell[]>();
  const groupOf = ({ cell }: PlannedCell): string => JSON.stringify([without(key, cell.values), cell.seed]);
  for (const planned of cells) {
    const group = groups.get(groupOf(planned));
    if (group === undefined) groups.set(groupOf(planned), [planned]);
    else group.push(planned);
  }
  return cells.flatMap((planned) => {
    const [first, ...others] = groups.get(groupOf(planned)) as [PlannedCell, ...PlannedCell[]];
    const { cell, task } = planned;
    const isSame = (other: PlannedCell) => other.task !== null && other.task.key === first.task?.key;
    if (others.length + 1 < values.length || task === null || !others.every(isSame)) return [planned];
    if (planned !== first) return [];
    const left = without(key, cell.values);
    return [{ ...planned, cell: { ...cell, values: left, id: cellId(left, cell.seed) } }];
  });
}

function without(key: string, values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([other]) => other !== key));
}
