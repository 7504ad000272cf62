import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../base/files/make-folder.js';
import { cannotWrite } from '../../base/files/output-file.js';
import { CellStore } from '../sweep/cell-store.js';

/** What a plan writes into its folder besides the runs. */
const RESULTS = ['plan.json', 'plan.html'];

/**
 * Where the runs of a plan are kept; null without a folder. Until the plan ends, the folder must not look as if it had.
 * Throws `E_FILE_WRITE`.
 */
export function openPlanStore(outDir: string | undefined, reuse: boolean): CellStore | null {
  if (outDir === undefined) return null;
  try {
    makeFolder(outDir);
    for (const name of RESULTS) rmSync(join(outDir, name), { force: true });
  } catch (error) {
    throw cannotWrite(outDir, error);
  }
  return new CellStore(outDir, reuse);
}
