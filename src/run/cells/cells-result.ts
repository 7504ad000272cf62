import type { Threshold } from '../../record/threshold.js';
import type { TargetFigure, Verdict } from '../plan/judge.js';
import type { CellMap } from './cell-map.js';
import type { CellFigures } from './figures.js';
import type { Move } from './moves.js';

/** A finished comparison of one cluster with several cells. Written as `plan.json`; the same whatever the number of threads. */
export interface CellsResult {
  readonly version: 3;
  /** Tells it from the other kind of plan. */
  readonly kind: 'cells';
  /** Version of escapement that ran it. */
  readonly escapement: string;
  readonly name: string;
  readonly policy: string;
  /** The answer in words. */
  readonly headline: string;
  /** The experiment as written, and the overrides of every run. */
  readonly experiment: string;
  readonly overrides: readonly string[];
  readonly targets: readonly Threshold[];
  readonly seeds: readonly number[];
  readonly gpus: number;
  readonly models: number;
  /** GPUs that all models keep busy, mean over the run. */
  readonly load: number;
  /** One controller for the whole cluster; one entry per seed. */
  readonly whole: readonly CellFigures[];
  /** Ascending by the number of cells. */
  readonly splits: readonly Split[];
  /** Number of cells of the split whose map is written; null: none meets the targets. */
  readonly chosen: number | null;
  /** What to know before trusting the answer. One line each. */
  readonly notes: readonly string[];
}

/** The cluster split over so many cells. */
export interface Split {
  readonly cells: number;
  /** All cells together; one entry per seed. */
  readonly figures: readonly CellFigures[];
  /** Each cell by itself, in the order of the map; for each one entry per seed. */
  readonly byCell: readonly (readonly CellFigures[])[];
  /** In the order of the targets. */
  readonly targets: readonly TargetFigure[];
  readonly meets: Verdict;
  readonly map: CellMap;
  /** The models that the map of `--from` has in other cells; null: none was given. */
  readonly moves: readonly Move[] | null;
}
