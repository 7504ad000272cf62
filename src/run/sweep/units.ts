import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ZodType } from 'zod';
import { inputPath } from '../../base/files/input-path.js';
import { makeFolder } from '../../base/files/make-folder.js';
import { cannotWrite, writeWhole } from '../../base/files/output-file.js';
import type { BoundFigures, CellResult } from '../../record/results.js';
import { boundFiguresSchema, cellResultSchema } from '../../record/schema.js';
import type { PlannedCell } from './plan-sweep.js';
import type { CellJob, CellRunner, Found, OnUnit, Unit } from './pool.js';
import type { CellTask } from './run-cell.js';

const FOLDERS = { runCell: 'cells', boundCell: 'bounds' } as const;

/** Schema of each job's result. */
export const RESULT_SCHEMAS: Readonly<Record<CellJob, ZodType>> = {
  runCell: cellResultSchema,
  boundCell: boundFiguresSchema,
};

/**
 * Finished cells of a sweep, one file per cell under `DIR/cells`, named by the cell's key; bounds that cells share are
 * under `DIR/bounds`. A restarted sweep finds them; files of other keys (an older experiment) are left alone. Any
 * number of processes, even on several machines, may use a folder at the same time: the same key holds the same bytes,
 * and a file gets its name when it is complete.
 */
export class CellStore {
  /** Paths of the results that it stored itself. */
  private readonly written = new Set<string>();

  /** `reuse` false: earlier results are not read, only replaced. */
  constructor(
    private readonly outDir: string,
    private readonly reuse: boolean,
  ) {}

  /** Makes the folder, which must not look finished before the end: removes results of all cells. Throws `E_FILE_WRITE`. */
  dropResults(names: readonly string[]): void {
    try {
      makeFolder(this.outDir);
      for (const name of names) rmSync(join(this.outDir, name), { force: true });
    } catch (cause) {
      throw cannotWrite(this.outDir, cause);
    }
  }

  /** The stored result of a job, with the names of the task that ran it; null if it has not finished. */
  read(task: CellTask, job: CellJob): CellResult | BoundFigures | null {
    const path = this.path(task, job);
    if (!this.reuse && !this.written.has(path)) return null;
    try {
      const value = JSON.parse(readFileSync(inputPath(path), 'utf8'));
      RESULT_SCHEMAS[job].parse(value);
      return value;
    } catch {
      // Absent, or damaged: computed again in either case.
      return null;
    }
  }

  /** Stores a result, given as JSON. Throws `E_FILE_WRITE`. */
  write(task: CellTask, json: string, job: CellJob): void {
    const path = this.path(task, job);
    writeWhole(path, json);
    this.written.add(path);
  }

  /** True if the result was not there before this store. */
  hasWritten(task: CellTask, job: CellJob): boolean {
    return this.written.has(this.path(task, job));
  }

  private path({ key }: CellTask, job: CellJob): string {
    return join(this.outDir, FOLDERS[job], `${key}.json`);
  }
}

/** One of several processes that share a sweep. */
export interface Shard {
  /** From 0 or 1 on: 0 and `count` are the same part. */
  readonly index: number;
  readonly count: number;
}

/**
 * All units of a sweep, each once, in an order that only depends on the keys: it is the same on every machine, and
 * neighbors in the grid, which take about equally long, are not adjacent.
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

/** Units of a shard: every unit belongs to exactly one shard, and their numbers differ by at most one. */
export function partOf(units: readonly Unit[], { index, count }: Shard): Unit[] {
  return units.filter((_, i) => i % count === index % count);
}

/** Runs units without a stored result, as many at a time as the runner takes, and stores each as it finishes. */
export async function runUnits(
  units: readonly Unit[],
  store: CellStore,
  runner: CellRunner,
  onUnit: OnUnit,
): Promise<void> {
  const left = [...units].reverse();
  const lane = async (): Promise<void> => {
    for (let unit = left.pop(); unit !== undefined; unit = left.pop())
      onUnit(unit, await runUnit(unit, store, runner));
  };
  const lanes = Array.from({ length: Math.min(runner.width, units.length) }, lane);
  try {
    await Promise.all(lanes);
  } finally {
    left.length = 0;
  }
}

/** Runs a unit without a stored result, and stores its result; without a store, just runs it. */
export async function runUnit(
  { task, job }: Unit,
  store: CellStore | null,
  runner: CellRunner,
): Promise<Found> {
  // Read as late as possible: another process may have finished it meanwhile.
  const stored = store?.read(task, job) ?? null;
  if (stored !== null) return { status: 'done', result: stored, reused: !store?.hasWritten(task, job) };
  const outcome = await runner.run(task, job);
  if (outcome.status === 'failed') return outcome;
  store?.write(task, outcome.json, job);
  return { status: 'done', result: JSON.parse(outcome.json), reused: false };
}
