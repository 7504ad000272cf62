import { join } from 'node:path';
import { writeWhole } from '../../base/files/output-file.js';
import type { BoundFigures, CellResult, PolicyNote, SweepCell, SweepResults } from '../../record/results.js';
import { RESULTS_VERSION } from '../../record/results-version.js';
import { dropReport } from '../../report/load.js';
import { type PlannedCell, planSweep, type SweepHeader, type SweepQuestion } from './plan-sweep.js';
import type { CellRunner, CellsRequest, Found, OnUnit } from './pool.js';
import { resultsCsv } from './results-csv.js';
import type { CellTask } from './run-cell.js';
import { CellStore, partOf, runUnits, type Shard, unitsOf } from './units.js';

interface RunRequest extends CellsRequest<string | undefined>, SweepQuestion {
  readonly outDir: string;
}

interface SweepRequest extends RunRequest {
  /** Called once, after every cell was checked and before the first one runs. */
  readonly onPlan: (cells: number, seeds: readonly number[], notes: readonly PolicyNote[]) => void;
}

/**
 * Runs a sweep and writes `results.json` and `results.csv`. Both have the same bytes regardless of the runner and of
 * interruptions. Throws errors of the experiment and the flags before any cell runs; failed cells are in the results.
 */
export async function sweepExperiment(request: SweepRequest): Promise<SweepResults> {
  const { outDir, fresh } = request;
  const { header, planned } = await planSweep(request);
  const notes = notesOfAll(planned);
  const seeds = [...new Set(planned.map(({ cell }) => cell.seed))];
  request.onPlan(planned.length, seeds, notes);
  const store = new CellStore(outDir, !fresh);
  store.dropResults(['results.json', 'results.csv']);
  dropReport(outDir);
  const results = await runSweep(header, planned, store, request.runner, request.onUnit);
  writeWhole(join(outDir, 'results.csv'), resultsCsv(results));
  writeWhole(join(outDir, 'results.json'), `${JSON.stringify(results)}\n`);
  return results;
}

/** Notes on the policies of the cells; those that no policy can help, only if every cell that runs has them. */
export function notesOfAll(planned: readonly PlannedCell[]): PolicyNote[] {
  const ofCells = planned.flatMap((plan) => (plan.task === null ? [] : [plan.notes]));
  const isEverywhere = ({ text }: PolicyNote) =>
    ofCells.every((notes) => notes.some((other) => other.text === text));
  return ofCells
    .flat()
    .filter((note) => note.policy !== undefined || note.kind === 'warning' || isEverywhere(note));
}

interface ShardRequest extends RunRequest {
  readonly shard: Shard;
  /** Called once, after every cell was checked and before the first one runs, with the units of this shard. */
  readonly onPlan: (units: number) => void;
}

/**
 * Runs one part of a sweep into a folder that other processes, even on other machines, write to at the same time;
 * leaves the folder's results of the whole sweep alone. Throws as `sweepExperiment`.
 */
export async function sweepShard(request: ShardRequest): Promise<void> {
  const { outDir, fresh, shard } = request;
  const { planned } = await planSweep(request);
  const units = partOf(unitsOf(planned), shard);
  request.onPlan(units.length);
  await runUnits(units, new CellStore(outDir, !fresh), request.runner, request.onUnit);
}

/** Runs all of a sweep, and collects its cells in the order of the grid, wherever and in whatever order they ran. */
export async function runSweep(
  header: SweepHeader,
  planned: readonly PlannedCell[],
  store: CellStore,
  runner: CellRunner,
  onUnit: OnUnit,
): Promise<SweepResults> {
  const found = new Map<string, Found>();
  await runUnits(unitsOf(planned), store, runner, (unit, one) => {
    found.set(unit.task.key, one);
    onUnit(unit, one);
  });
  return { version: RESULTS_VERSION, ...header, cells: planned.map((plan) => cellOf(plan, found)) };
}

/** Fails cells with a failed bound likewise; their own results stay in the store. */
function cellOf(plan: PlannedCell, found: ReadonlyMap<string, Found>): SweepCell {
  const { id, values, seed } = plan.cell;
  if (plan.task === null) return { id, values, seed, ...plan.refused };
  const own = found.get(plan.task.key)!;
  if (own.status === 'failed') return { id, values, seed, ...own };
  const result = relabeled(own.result as CellResult, plan.task);
  if (plan.bound === undefined) return { id, values, seed, status: 'done', result };
  const shared = found.get(plan.bound.key)!;
  if (shared.status === 'failed') return { id, values, seed, ...shared };
  const bound = shared.result as BoundFigures;
  return { id, values, seed, status: 'done', result: { ...result, bound } };
}

/** A result of the same experiment under the names of this task, with its fields in the same order. */
function relabeled(result: CellResult, { name, plugin }: CellTask): CellResult {
  const { summary } = result;
  return {
    ...result,
    summary: { ...summary, name },
    ...(result.plugin === undefined || plugin === undefined
      ? {}
      : { plugin: { ...result.plugin, file: plugin } }),
  };
}
