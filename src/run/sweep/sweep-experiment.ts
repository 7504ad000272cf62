import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../base/files/make-folder.js';
import { cannotWrite, writeWhole } from '../../base/files/output-file.js';
import type { PolicyNote } from '../../record/policy-notes.js';
import type { SweepResults } from '../../record/results.js';
import { dropReport } from '../../report/files.js';
import { CellStore } from './cell-store.js';
import { planSweep, type SweepQuestion } from './plan-sweep.js';
import type { OpenRunner } from './pool.js';
import { resultsCsv } from './results-csv.js';
import { unitsOf } from './shard.js';
import { checkMark, markOf, removeMark } from './shard-mark.js';
import { type OnCell, runSweep } from './sweep.js';

interface SweepRequest extends SweepQuestion {
  readonly outDir: string;
  readonly openRunner: OpenRunner;
  /** Runs finished cells again. */
  readonly fresh: boolean;
  /** Called once, when every cell was checked and before the first one runs. */
  readonly onPlan: (
    cells: number,
    seeds: readonly number[],
    notes: readonly PolicyNote[],
    /** Combinations that are left out, as they have no GPU. */
    empty: number,
  ) => void;
  readonly onCell: OnCell;
}

/**
 * Runs a sweep and writes `results.json` and `results.csv`. Both are the same bytes whatever runs the cells and however often the sweep was interrupted. Throws what is wrong with the experiment or
 * the flags before any cell runs, and `E_RESULTS` for a folder with shards of another sweep; cells that fail are in the
 * results.
 */
export async function sweepExperiment(request: SweepRequest): Promise<SweepResults> {
  const { outDir, fresh, version } = request;
  const { header, planned, empty } = await planSweep(request);
  if (!fresh) checkMark(outDir, markOf(unitsOf(planned), version));
  const store = new CellStore(outDir, !fresh);
  const notes = planned.flatMap((plan) => (plan.task === null ? [] : plan.notes));
  request.onPlan(planned.length, header.seeds, notes, empty);
  prepareFolder(outDir);
  const runner = request.openRunner(planned.length);
  try {
    const results = await runSweep(header, planned, store, runner, request.onCell);
    writeWhole(join(outDir, 'results.csv'), resultsCsv(results));
    writeWhole(join(outDir, 'results.json'), `${JSON.stringify(results)}\n`);
    removeMark(outDir);
    return results;
  } finally {
    await runner.close();
  }
}

/** Makes the folder. Until this sweep ends, it must not look as if it had. Throws `E_FILE_WRITE`. */
function prepareFolder(outDir: string): void {
  try {
    makeFolder(outDir);
    for (const name of ['results.json', 'results.csv']) rmSync(join(outDir, name), { force: true });
  } catch (error) {
    throw cannotWrite(outDir, error);
  }
  dropReport(outDir);
}
