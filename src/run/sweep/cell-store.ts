import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ZodType } from 'zod';
import { inputPath } from '../../base/files/input-path.js';
import { writeShared } from '../../base/files/shared-file.js';
import type { BoundFigures, CellResult } from '../../record/results.js';
import { boundFiguresSchema, cellResultSchema } from '../../record/schema.js';
import type { ResultKeys } from './cell-key.js';
import type { CellTask } from './run-cell.js';

type Kind = 'cells' | 'bounds';

/**
 * The finished cells of a sweep, one file a cell under `DIR/cells`, named by the cell's key; bounds that cells share
 * are under `DIR/bounds`. A sweep that is started again finds them; files of other keys (an older experiment) are left
 * alone. Any number of processes, on several machines too, may use a folder at the same time: the same key holds the
 * same bytes, and a file gets its name when it is complete.
 */
export class CellStore {
  /** `reuse` false: what is stored is not read, only replaced. */
  constructor(
    private readonly outDir: string,
    private readonly reuse: boolean,
  ) {}

  /** The stored result, with the names of this task; null if this cell has not finished. */
  read(task: CellTask): CellResult | null {
    const stored = this.find<CellResult>('cells', task, cellResultSchema);
    return stored === null ? null : relabeled(stored, task);
  }

  /** Keeps a result, given as JSON. Throws `E_FILE_WRITE`. */
  write(key: string, json: string): void {
    writeShared(this.path('cells', key), json);
  }

  /** The stored bound, or null if there is none yet. */
  readBound(task: CellTask): BoundFigures | null {
    return this.find<BoundFigures>('bounds', task, boundFiguresSchema);
  }

  /** Keeps a bound, given as JSON. Throws `E_FILE_WRITE`. */
  writeBound(key: string, json: string): void {
    writeShared(this.path('bounds', key), json);
  }

  private find<T>(kind: Kind, { key, formerKey }: ResultKeys, schema: ZodType): T | null {
    if (!this.reuse) return null;
    return this.parse<T>(this.path(kind, key), schema) ?? this.parse<T>(this.path(kind, formerKey), schema);
  }

  private parse<T>(path: string, schema: ZodType): T | null {
    try {
      const value = JSON.parse(readFileSync(inputPath(path), 'utf8'));
      schema.parse(value);
      return value as T;
    } catch {
      // Absent, or not a result because someone touched it: either way it is found out again.
      return null;
    }
  }

  private path(kind: Kind, key: string): string {
    return join(this.outDir, kind, `${key}.json`);
  }
}

/** A result of the same experiment under another name: the order of its fields stays as it was. */
function relabeled(stored: CellResult, { name, plugin }: CellTask): CellResult {
  const { summary } = stored;
  return {
    ...stored,
    summary: { ...summary, name },
    ...(stored.plugin === undefined || plugin === undefined
      ? {}
      : { plugin: { ...stored.plugin, file: plugin } }),
  };
}
