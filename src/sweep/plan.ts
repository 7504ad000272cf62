import { EscapementError } from '../core/errors.js';
import { parseExperiment } from '../experiment/load.js';
import { cellKey } from './cell-key.js';
import { cellOverrides, type GridCell } from './grid.js';
import { type CellOutcome, type CellTask, failedOutcome } from './run-cell.js';

/** A cell of the grid, and either how to run it or why it cannot run. */
export type PlannedCell =
  | { readonly cell: GridCell; readonly task: CellTask }
  | { readonly cell: GridCell; readonly task: null; readonly refused: CellOutcome };

export interface PlanOptions {
  /** The experiment, and its path. */
  readonly text: string;
  readonly file: string;
  /** `--set` overrides that hold in every cell. */
  readonly overrides: readonly string[];
  readonly version: string;
}

/**
 * Checks every cell before the first one runs. Throws where the experiment is wrong as a whole: no cell
 * can run, or a varied value is refused in every cell that has it. A combination that cannot run (a
 * model larger than a small cache) fails alone.
 */
export async function planCells(grid: readonly GridCell[], options: PlanOptions): Promise<PlannedCell[]> {
  const { text, file, version } = options;
  const planned: PlannedCell[] = [];
  const errors = new Map<GridCell, EscapementError>();
  for (const cell of grid) {
    const overrides = [...options.overrides, ...cellOverrides(cell)];
    try {
      const key = cellKey(await parseExperiment(text, file, overrides), version);
      planned.push({ cell, task: { text, file, overrides, key } });
    } catch (error) {
      if (!(error instanceof EscapementError)) throw error;
      const shown = asVaried(error, cell);
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
