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
import type { Unit } from './units.js';

const MARK = 'sweep.json';

/** Makes the folder for a whole sweep. Until it ends, the folder must not look finished. Throws `E_FILE_WRITE`. */
export function beginWhole(outDir: string, fresh: boolean): void {
  const isOver = fresh || readMark(markFile(outDir))?.finished === true;
  writing(outDir, () => {
    makeFolder(outDir);
    for (const name of ['results.json', 'results.csv', ...(isOver ? [MARK] : [])])
      rmSync(join(outDir, name), { force: true });
  });
  dropReport(outDir);
}

/** Marks the folder as finished. Throws `E_FILE_WRITE`. */
export function endWhole(outDir: string, mark: SweepMark): void {
  writeMark(outDir, { ...mark, finished: true });
}

/** Throws `E_RESULTS` if other shards have begun in the folder and are not collected yet. */
export function checkWhole(outDir: string, mark: SweepMark): void {
  if (readMark(markFile(outDir))?.finished !== true) checkMark(outDir, mark);
}

/** Makes the folder for a shard and marks it, if nothing else has. Throws as `checkMark`; `replace`: it replaces any content. */
export function beginShard(outDir: string, mark: SweepMark, replace: boolean): void {
  writing(outDir, () => makeFolder(outDir));
  if (replace || !checkMark(outDir, mark)) writeMark(outDir, mark);
}

/** Throws `E_RESULTS` for a folder in which no sweep has begun. */
export function requireBegun(outDir: string, cells: number): void {
  if (['cells', MARK, 'results.json'].some((name) => existsSync(join(outDir, name)))) return;
  const what = `no sweep has begun in this folder: check --out, or start this sweep of ${cells} cells`;
  throw new EscapementError('E_RESULTS', what, { file: outDir });
}

const markSchema = z.object({
  escapement: z.string(),
  platform: z.string(),
  sweep: z.string(),
  /** True once its results are collected. */
  finished: z.boolean().default(false),
});

/** Identity of the sweep in a folder, from its first shard on. */
type SweepMark = z.output<typeof markSchema>;

/** Mark of a sweep in which this process takes part. */
export function markOf(units: readonly Unit[], version: string): SweepMark {
  const hash = createHash('sha256');
  for (const { task } of units) hash.update(task.key);
  const sweep = hash.digest('hex').slice(0, 32);
  return { escapement: version, platform: platformText(), sweep, finished: false };
}

/**
 * True if the folder has a mark. Throws `E_RESULTS` if it is unreadable or a different one, since such shards share no
 * cell with this sweep or might not give the same bytes.
 */
export function checkMark(outDir: string, mark: SweepMark): boolean {
  const found = readMark(markFile(outDir));
  if (found === null) return false;
  const problem = differenceOf(found, mark);
  if (problem === null) return true;
  const what = `${problem}, or choose another --out; --fresh starts over here`;
  throw new EscapementError('E_RESULTS', what, { file: markFile(outDir) });
}

function readMark(file: string): SweepMark | null {
  if (!existsSync(file)) return null;
  try {
    return markSchema.parse(JSON.parse(readFileSync(inputPath(file), 'utf8')));
  } catch (error) {
    const isOther = error instanceof SyntaxError || error instanceof z.ZodError;
    const why = isOther ? 'it holds something else than what sweeps write' : (error as Error).message;
    const what = `cannot tell which sweep the folder has (${why}): remove the file if no shard is running, or choose another --out; --fresh starts over here`;
    throw new EscapementError('E_RESULTS', what, { file });
  }
}

function differenceOf(found: SweepMark, mark: SweepMark): string | null {
  if (found.escapement !== mark.escapement) {
    return `the folder has cells of escapement ${found.escapement}, and this is ${mark.escapement}: run all with the same version`;
  }
  if (found.platform !== mark.platform) {
    return `the folder has cells that ran on ${found.platform}, and this is ${mark.platform}, whose figures may differ in the last digit: run all on the same platform`;
  }
  if (found.sweep === mark.sweep) return null;
  return 'the folder has another sweep: run all with the same experiment, traces, --vary, --seeds, --set, --plugin and --threshold';
}

function markFile(outDir: string): string {
  return join(outDir, MARK);
}

function writeMark(outDir: string, mark: SweepMark): void {
  writeShared(markFile(outDir), `${JSON.stringify(mark)}\n`);
}

function writing(path: string, write: () => void): void {
  try {
    write();
  } catch (cause) {
    throw cannotWrite(path, cause);
  }
}
