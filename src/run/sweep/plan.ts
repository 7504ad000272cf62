import { atItsPlace, type ErrorPlace, EscapementError } from '../../base/errors.js';
import { buildExperiment } from '../../config/build.js';
import type { SourceDocument } from '../../config/document.js';
import type { Experiment } from '../../config/experiment.js';
import { NotedFiles } from '../../config/files-on-disk.js';
import { partNames } from '../../config/part-names.js';
import { experimentNotes } from '../../config/policy-notes.js';
import { chosenCases, placeInCase } from '../../config/sweep-section.js';
import type { PolicyNote } from '../../record/results.js';
import { type PartNames, refuseUnknownParts, type Threshold } from '../../record/threshold.js';
import { seedChanges } from '../random-streams.js';
import { boundKey, cellKey } from './cell-key.js';
import { type CellBase, cellOverrides, type GridCell } from './grid.js';
import { type CellTask, type FailedOutcome, failedOutcome, labelsOf } from './run-cell.js';

/** A cell of the grid, and either how to run it or why it cannot run. */
export type PlannedCell =
  | {
      readonly cell: GridCell;
      readonly task: CellTask;
      /** Its upper bound, if the sweep requests it: the same task for all cells that share it. */
      readonly bound?: CellTask;
      /** Features of the experiment that the policy does not support. */
      readonly notes: readonly PolicyNote[];
    }
  | {
      readonly cell: GridCell;
      readonly task: null;
      readonly refused: FailedOutcome;
    };

interface PlanOptions extends CellBase {
  /** The experiment. */
  readonly source: SourceDocument;
  readonly bound: boolean;
  readonly version: string;
  /** Figures that are asked for, by the names of thresholds. */
  readonly metrics: readonly string[];
  /** Thresholds that a choice must meet to be recommended. */
  readonly thresholds: readonly Threshold[];
  /** Where a value of a varied key is written. */
  placeOf(key: string, value: string): ErrorPlace;
}

/** An experiment that may run, and how. */
export interface CheckedCell {
  readonly experiment: Experiment;
  readonly task: CellTask;
}

/** Checks one run of an experiment. Throws its errors. */
export async function checkCell(
  source: SourceDocument,
  overrides: readonly string[],
  { version, metrics }: Pick<PlanOptions, 'version' | 'metrics'>,
): Promise<CheckedCell> {
  const host = new NotedFiles();
  const experiment = await buildExperiment(source, { overrides, host });
  const { text, file } = source;
  const key = cellKey(experiment, version, metrics);
  const { files } = host;
  return { experiment, task: { text, file, files, overrides, metrics, key, ...labelsOf(experiment) } };
}

/**
 * Checks every cell before the first one runs. Throws if the experiment is wrong as a whole: no cell can run, or a
 * varied value or a case is refused in every cell that has it. A combination that cannot run (a model larger than a
 * small cache) fails alone. A combination that no seed changes is run with the first seed only.
 */
export async function planCells(grid: readonly GridCell[], options: PlanOptions): Promise<PlannedCell[]> {
  const { source, version, metrics, thresholds } = options;
  const planned: PlannedCell[] = [];
  const parts: PartNames[] = [];
  const errors = new Map<GridCell, EscapementError>();
  for (const cell of grid) {
    const overrides = cellOverrides(cell, options);
    try {
      const { experiment, task } = await checkCell(source, overrides, { version, metrics });
      if (cell.repeats && !seedChanges(experiment)) continue;
      if (thresholds.length > 0) parts.push(partNames(experiment));
      const bound = options.bound ? { bound: { ...task, key: boundKey(experiment, version) } } : {};
      planned.push({ cell, task, ...bound, notes: experimentNotes(experiment) });
    } catch (error) {
      if (!(error instanceof EscapementError)) throw error;
      const shown = atItsPlace(error, placeIn(cell, options));
      errors.set(cell, shown);
      planned.push({ cell, task: null, refused: failedOutcome(shown) });
    }
  }
  throwIfHopeless(grid, errors);
  refuseUnknownParts(thresholds, parts, 'threshold');
  return planned;
}

function throwIfHopeless(grid: readonly GridCell[], errors: ReadonlyMap<GridCell, EscapementError>): void {
  for (const [{ values }, error] of errors) {
    if (errors.size === grid.length) throw error;
    if (!error.code.startsWith('E_CONFIG_')) continue;
    for (const [key, value] of Object.entries(values)) {
      if (grid.every((cell) => cell.values[key] !== value || errors.has(cell))) throw error;
    }
  }
}

/** Place of an override of a cell, by its text: of its cases, or of its varied keys. */
function placeIn({ values }: GridCell, { cases, source, placeOf }: PlanOptions) {
  return (override: string): ErrorPlace | undefined => {
    const [inCase] = chosenCases(cases, values).flatMap((one) => placeInCase(one, override, source) ?? []);
    const varied = Object.keys(values).find((key) => override === `${key}=${values[key]}`);
    return inCase ?? (varied === undefined ? undefined : placeOf(varied, values[varied]!));
  };
}
