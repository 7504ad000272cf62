import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { EscapementError } from '../../base/errors.js';
import { inputPath } from '../../base/files/input-path.js';
import type { SweepHeader } from './sweep.js';

/** What tells one sweep from another in its results. */
const askedSchema = z.object({
  experiment: z.string(),
  overrides: z.array(z.string()).default([]),
  vary: z.array(z.object({ key: z.string(), values: z.array(z.string()) })),
  seeds: z.array(z.number()),
});

/** Throws `E_RESULTS` for a folder with the finished results of another sweep: a shard would leave the two mixed up. */
export function refuseOtherResults(outDir: string, header: SweepHeader): void {
  const file = join(outDir, 'results.json');
  const found = askedIn(file);
  if (found === null || JSON.stringify(found) === JSON.stringify(askedSchema.parse(header))) return;
  const what =
    'the folder has the results of another sweep: choose another --out; --fresh starts over in this one';
  throw new EscapementError('E_RESULTS', what, { file });
}

/** Throws `E_RESULTS` for a folder in which no sweep has begun. */
export function requireBegun(outDir: string, cells: number): void {
  if (['cells', 'shards.json', 'results.json'].some((name) => existsSync(join(outDir, name)))) return;
  const what = `no sweep has begun in this folder: check --out, or start this sweep of ${cells} cells`;
  throw new EscapementError('E_RESULTS', what, { file: outDir });
}

/** Null: there are no results, or none that can be read. */
function askedIn(file: string): z.output<typeof askedSchema> | null {
  try {
    return askedSchema.parse(JSON.parse(readFileSync(inputPath(file), 'utf8')));
  } catch {
    return null;
  }
}
