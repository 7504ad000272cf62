import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ZodType } from 'zod';
import { inputPath } from '../../base/files/input-path.js';
import { makeFolder } from '../../base/files/make-folder.js';
import { cannotWrite, writeWhole } from '../../base/files/output-file.js';
import type { BoundFigures, CellResult } from '../../record/results.js';
import { boundFiguresSchema, cellResultSchema } from '../../record/schema.js';
import type { CellJob } from './pool.js';
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
