import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { EscapementError } from '../../base/errors.js';
import { inputPath } from '../../base/files/input-path.js';
import { makeFolder } from '../../base/files/make-folder.js';
import { cannotWrite } from '../../base/files/output-file.js';
import { writeShared } from '../../base/files/shared-file.js';
import { dropReport } from '../../report/files.js';
import { platformText } from './cell-key.js';
import type { SweepHeader } from './plan-sweep.js';
import type { Unit } from './units.js';

/** Makes the folder for a whole sweep. Until it ends, the folder must not look finished. Throws `E_FILE_WRITE`. */
export function beginWhole(outDir: string): void {
  writing(outDir, () => {
    makeFolder(outDir);
    for (const name of ['results.json', 'results.csv']) rmSync(join(outDir, name), { force: true });
  });
  dropReport(outDir);
}

/** Marks all shards as collected. Throws `E_FILE_WRITE`. */
export function endWhole(outDir: string): void {
  writing(markFile(outDir), () => rmSync(markFile(outDir), { force: true }));
}

/**
 * Makes the folder for a shard and marks it, if no other shard has. Throws `E_RESULTS` if the folder has results of
 * another sweep, and as `checkMark`; with `replace` it replaces any content.
 */
export function beginShard(outDir: string, header: SweepHeader, mark: ShardMark, replace: boolean): void {
  if (!replace) refuseOtherResults(outDir, header);
  writing(outDir, () => makeFolder(outDir));
  if (replace || !checkMark(outDir, mark)) writeShared(markFile(outDir), `${JSON.stringify(mark)}\n`);
}

/** Throws `E_RESULTS` for a folder in which no sweep has begun. */
export function requireBegun(outDir: string, cells: number): void {
  if (['cells', 'shards.json', 'results.json'].some((name) => existsSync(join(outDir, name)))) return;
  const what = `no sweep has begun in this folder: check --out, or start this sweep of ${cells} cells`;
  throw new EscapementError('E_RESULTS', what, { file: outDir });
}

const markSchema = z.object({ escapement: z.string(), platform: z.string(), sweep: z.string() });

/** Properties shared by all shards in a folder, from the first of them until the sweep is collected. */
type ShardMark = z.output<typeof markSchema>;

/** Mark of a sweep in which this process takes part. */
export function markOf(units: readonly Unit[], version: string): ShardMark {
  const hash = createHash('sha256');
  for (const { task } of units) hash.update(task.key);
  return { escapement: version, platform: platformText(), sweep: hash.digest('hex').slice(0, 32) };
}

/**
 * True if the folder has a mark. Throws `E_RESULTS` if it is unreadable or a different one, since such shards share no
 * cell with this sweep or might not give the same bytes.
 */
export function checkMark(outDir: string, mark: ShardMark): boolean {
  const found = readMark(markFile(outDir));
  if (found === null) return false;
  const problem = differenceOf(found, mark);
  if (problem === null) return true;
  const what = `${problem}, or choose another --out; --fresh starts over here`;
  throw new EscapementError('E_RESULTS', what, { file: markFile(outDir) });
}

function readMark(file: string): ShardMark | null {
  if (!existsSync(file)) return null;
  try {
    return markSchema.parse(JSON.parse(readFileSync(inputPath(file), 'utf8')));
  } catch (error) {
    const isOther = error instanceof SyntaxError || error instanceof z.ZodError;
    const why = isOther ? 'it holds something else than what shards write' : (error as Error).message;
    const what = `cannot tell which sweep the folder has shards of (${why}): remove the file if no shard is running, or choose another --out; --fresh starts over here`;
    throw new EscapementError('E_RESULTS', what, { file });
  }
}

function differenceOf(found: ShardMark, mark: ShardMark): string | null {
  if (found.escapement !== mark.escapement) {
    return `the folder has shards of escapement ${found.escapement}, and this is ${mark.escapement}: run all with the same version`;
  }
  if (found.platform !== mark.platform) {
    return `the folder has shards that ran on ${found.platform}, and this is ${mark.platform}, whose figures may differ in the last digit: run all on the same platform`;
  }
  if (found.sweep === mark.sweep) return null;
  return 'the folder has shards of another sweep: run all with the same experiment, traces, --vary, --seeds, --set, --plugin and --threshold';
}

function markFile(outDir: string): string {
  return join(outDir, 'shards.json');
}

/** Identity of a sweep in its results. */
const askedSchema = z.object({
  experiment: z.string(),
  overrides: z.array(z.string()).default([]),
  vary: z.array(z.object({ key: z.string(), values: z.array(z.string()) })),
  seeds: z.array(z.number()),
});

function refuseOtherResults(outDir: string, header: SweepHeader): void {
  const file = join(outDir, 'results.json');
  const found = askedIn(file);
  if (found === null || JSON.stringify(found) === JSON.stringify(askedSchema.parse(header))) return;
  const what =
    'the folder has the results of another sweep: choose another --out; --fresh starts over in this one';
  throw new EscapementError('E_RESULTS', what, { file });
}

/** Null if there are no readable results. */
function askedIn(file: string): z.output<typeof askedSchema> | null {
  try {
    return askedSchema.parse(JSON.parse(readFileSync(inputPath(file), 'utf8')));
  } catch {
    return null;
  }
}

function writing(path: string, write: () => void): void {
  try {
    write();
  } catch (cause) {
    throw cannotWrite(path, cause);
  }
}
