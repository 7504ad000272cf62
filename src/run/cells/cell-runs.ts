import { type ErrorCode, EscapementError } from '../../base/errors.js';
import { cellOf } from '../../config/cell.js';
import type { SourceDocument } from '../../config/document.js';
import type { Experiment } from '../../config/experiment.js';
import type { ReadFile } from '../../config/files-on-disk.js';
import type { CellResult } from '../../record/results.js';
import { percentilesFor, type Threshold } from '../../record/threshold.js';
import { cellKeys } from '../sweep/cell-key.js';
import type { CellStore } from '../sweep/cell-store.js';
import type { CellRunner } from '../sweep/pool.js';
import { BUG, type CellTask, labelsOf } from '../sweep/run-cell.js';
import { type CellMap, type MappedCell, overrideOf, sectionOf } from './cell-map.js';
import { PERCENTILES } from './figures.js';

/** An experiment with one of the seeds, and what it reads. */
export interface SeededExperiment {
  readonly experiment: Experiment;
  readonly overrides: readonly string[];
  readonly files: readonly ReadFile[];
}

/** All that was simulated. */
export interface CellRuns {
  /** One controller for all GPUs; one entry per seed. */
  readonly whole: readonly CellResult[];
  /** For each map, for each of its cells, one entry per seed. */
  readonly splits: readonly (readonly (readonly CellResult[])[])[];
}

interface Question {
  readonly source: SourceDocument;
  readonly seeded: readonly SeededExperiment[];
  readonly maps: readonly CellMap[];
}

interface Means {
  readonly version: string;
  readonly targets: readonly Threshold[];
  readonly runner: CellRunner;
  /** Where finished runs are kept; null: nowhere. */
  readonly store: CellStore | null;
  readonly onRun: (reused: boolean) => void;
}

/** Simulates the whole cluster and every cell of every map with each seed. Throws the first failure. */
export async function runCells({ source, seeded, maps }: Question, means: Means): Promise<CellRuns> {
  const each = (cell: MappedCell | null) =>
    Promise.all(seeded.map((one) => resultOf(taskOf(source, one, cell, means), cell, means)));
  const whole = each(null);
  const splits = Promise.all(maps.map(({ cells }) => Promise.all(cells.map(each))));
  const [ofWhole, ofSplits] = await Promise.all([whole, splits]);
  return { whole: ofWhole, splits: ofSplits };
}

function taskOf(
  { text, file }: SourceDocument,
  { experiment, overrides, files }: SeededExperiment,
  cell: MappedCell | null,
  { version, targets }: Means,
): CellTask {
  const percentiles = [...new Set([...PERCENTILES, ...percentilesFor(targets)])].sort((a, b) => a - b);
  const own = cell === null ? experiment : cellOf(experiment, sectionOf(cell), () => ({ file }));
  return {
    ...{ text, file, files, percentiles },
    overrides: cell === null ? overrides : [...overrides, overrideOf(cell)],
    ...cellKeys(own, version, percentiles),
    ...labelsOf(experiment),
  };
}

async function resultOf(task: CellTask, cell: MappedCell | null, means: Means): Promise<CellResult> {
  const { store, runner, onRun } = means;
  const stored = store?.read(task) ?? null;
  if (stored !== null) {
    onRun(true);
    return stored;
  }
  const outcome = await runner.run(task);
  if (outcome.status === 'failed') {
    const what = `${cell === null ? 'one controller' : cell.name}: ${outcome.message}`;
    throw outcome.code === BUG ? new Error(what) : new EscapementError(outcome.code as ErrorCode, what);
  }
  store?.write(task.key, outcome.json);
  onRun(false);
  return JSON.parse(outcome.json) as CellResult;
}
