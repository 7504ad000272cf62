import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeWhole } from '../files/output-file.js';
import type { CellResult } from '../metrics/results.js';
import { cellResultSchema } from '../metrics/schema.js';

/**
 * The finished cells of a sweep, one file a cell under `DIR/cells`, named by the cell's key. A sweep that
 * is started again finds them; files of other keys (an older experiment) are left alone.
 */
export class CellStore {
  private readonly dir: string;

  /** `reuse` false: stored results are not read, only replaced. */
  constructor(
    outDir: string,
    private readonly reuse: boolean,
  ) {
    this.dir = join(outDir, 'cells');
  }

  /** The stored result, or null if this cell has not finished. */
  read(key: string): CellResult | null {
    if (!this.reuse) return null;
    try {
      const result = JSON.parse(readFileSync(this.path(key), 'utf8'));
      cellResultSchema.parse(result);
      return result as CellResult;
    } catch {
      // Absent, or not a result because someone touched it: either way the cell runs again.
      return null;
    }
  }

  /** Keeps a result, given as JSON. Throws `E_FILE_WRITE`. */
  write(key: string, json: string): void {
    writeWhole(this.path(key), json);
  }

  private path(key: string): string {
    return join(this.dir, `${key}.json`);
  }
}
