import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ZodType } from 'zod';
import { writeWhole } from '../../base/files/output-file.js';
import type { BoundFigures, CellResult } from '../../record/results.js';
import { boundFiguresSchema, cellResultSchema } from '../../record/schema.js';

/**
 * The finished cells of a sweep, one file a cell under `DIR/cells`, named by the cell's key; bounds that cells share
 * are under `DIR/bounds`. A sweep that is started again finds them; files of other keys (an older experiment) are left
 * alone.
 */
export class CellStore {
  /** `reuse` false: what is stored is not read, only replaced. */
  constructor(
    private readonly outDir: string,
    private readonly reuse: boolean,
  ) {}

  /** The stored result, or null if this cell has not finished. */
  read(key: string): CellResult | null {
    return this.parse<CellResult>(this.path('cells', key), cellResultSchema);
  }

  /** Keeps a result, given as JSON. Throws `E_FILE_WRITE`. */
  write(key: string, json: string): void {
    writeWhole(this.path('cells', key), json);
  }

  /** The stored bound, or null if there is none yet. */
  readBound(key: string): BoundFigures | null {
    return this.parse<BoundFigures>(this.path('bounds', key), boundFiguresSchema);
  }

  /** Keeps a bound, given as JSON. Throws `E_FILE_WRITE`. */
  writeBound(key: string, json: string): void {
    writeWhole(this.path('bounds', key), json);
  }

  private parse<T>(path: string, schema: ZodType): T | null {
    if (!this.reuse) return null;
    try {
      const value = JSON.parse(readFileSync(path, 'utf8'));
      schema.parse(value);
      return value as T;
    } catch {
      // Absent, or not a result because someone touched it: either way it is found out again.
      return null;
    }
  }

  private path(folder: string, key: string): string {
    return join(this.outDir, folder, `${key}.json`);
  }
}
