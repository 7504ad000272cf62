import { EscapementError } from '../core/errors.js';
import { asMistakeInCase } from '../experiment/cases.js';
import type { SourceDocument } from '../experiment/document.js';
import { buildExperiment } from '../experiment/load.js';
import { boundKey, cellKey } from './cell-key.js';
import { type CellBase, cellOverrides, type GridCell } from './grid.js';
import { type CellOutcome, type CellTask, failedOutcome } from './run-cell.js';

/** A cell of the grid, and either how to run it or why it cannot run. */
export type PlannedCell =
  | {
      readonly cell: GridCell;
      readonly task: CellTask;
      /** Its upper bound, if the sweep asks for it: the same task for all cells that share it. */
      readonly bound?: CellTask;
    }
  | { readonly cell: GridCell; readonly task: null; readonly refused: CellOutcome };

export interface PlanOptions extends CellBase {
  /** The experiment. */
  readonly source: SourceDocument;
  readonly bound: boolean;
  readonly version: string;
}

/**
 * Checks every cell before the first one runs. Throws where the experiment is wrong as a whole: no cell
 * can run, or a varied value or a case is refused in every cell that has it. A combination that cannot run (a
 * model larger than a small cache) fails alone.
 */
export async function planCells(grid: readonly GridCell[], options: PlanOptions): Promise<PlannedCell[]> {
  const { source, version } = options;
  const { text, file } = source;
  const planned: PlannedCell[] = [];
  const errors = new Map<GridCell, EscapementError>();
  for (const cell of grid) {
    const overrides = cellOverrides(cell, options);
    try {
      const experiment = await buildExperiment(source, overrides);
      const task = { text, file, overrides, key: cellKey(experiment, version) };
      const bound = options.bound ? { bound: { ...task, key: boundKey(experiment, version) } } : {};
      planned.push({ cell, task, ...bound });
    } catch (error) {
      if (!(error instanceof EscapementError)) throw error;
      const shown = asMistakeInCase(error, options.cases, cell.values, source) ?? asVaried(error, cell);
      errors.set(cell, shown);
      planned.push({ cell, task: null, refused: failedOutcome(shown) });
    }
  }
  throwIfHopeless(grid, errors);
  return planned;
}

function throwIfHopeless(grid: readonly GridCell[], errors: ReadonlyMap<GridCell, EscapementError>): void {
  for (const [{ values }, error] of errors) {
    if (errors.size === grid.length) throw error;
    if (!error.code.startsWith('E_CONFIG')) continue;
    for (const [key, value] of Object.entries(values)) {
      if (grid.every((cell) => cell.values[key] !== value || errors.has(cell))) throw error;
    }
  }
}

/** Values of cells are overrides for the loader; in messages they are what the user varied. */
function asVaried(error: EscapementError, { values }: GridCell): EscapementError {
  const isVaried = Object.keys(values).some((key) => error.place.key?.startsWith(`--set ${key}=`));
  return isVaried ? new EscapementError(error.code, error.message.replace('--set ', '--vary ')) : error;
}
