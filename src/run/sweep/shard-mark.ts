import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { EscapementError } from '../../base/errors.js';
import { inputPath } from '../../base/files/input-path.js';
import { cannotWrite } from '../../base/files/output-file.js';
import { writeShared } from '../../base/files/shared-file.js';
import { platformText } from './platform.js';
import type { Unit } from './shard.js';

const markSchema = z.object({ escapement: z.string(), platform: z.string(), sweep: z.string() });

/** What all shards in a folder have in common, from the first of them until the sweep is collected. */
type ShardMark = z.output<typeof markSchema>;

/** The mark of a sweep that this process takes part in. */
export function markOf(units: readonly Unit[], version: string): ShardMark {
  const hash = createHash('sha256');
  for (const { task } of units) hash.update(task.key);
  return {
    escapement: version,
    platform: platformText(),
    sweep: hash.digest('hex').slice(0, 32),
  };
}

/** Marks a folder, which exists, unless it is marked. With `replace`, whatever is there. Throws as `checkMark`. */
export function leaveMark(outDir: string, mark: ShardMark, replace: boolean): void {
  if (replace || !checkMark(outDir, mark)) writeShared(pathOf(outDir), `${JSON.stringify(mark)}\n`);
}

/**
 * Whether the folder has a mark. Throws `E_RESULTS` where it is another one, since such shards share no cell with this
 * sweep or might not give the same bytes, and where it cannot be read.
 */
export function checkMark(outDir: string, mark: ShardMark): boolean {
  const found = readMark(outDir);
  if (found === null) return false;
  const problem = differenceOf(found, mark);
  if (problem === null) return true;
  const what = `${problem}, or choose another --out; --fresh starts over here`;
  throw new EscapementError('E_RESULTS', what, { file: pathOf(outDir) });
}

/** Throws `E_FILE_WRITE`. */
export function removeMark(outDir: string): void {
  try {
    rmSync(pathOf(outDir), { force: true });
  } catch (cause) {
    throw cannotWrite(pathOf(outDir), cause);
  }
}

function readMark(outDir: string): ShardMark | null {
  const file = pathOf(outDir);
  let text: string;
  try {
    text = readFileSync(inputPath(file), 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw unreadable(file, (error as Error).message);
  }
  try {
    return markSchema.parse(JSON.parse(text));
  } catch {
    throw unreadable(file, 'it holds something else than what shards write');
  }
}

function unreadable(file: string, why: string): EscapementError {
  const what = `cannot tell which sweep the folder has shards of (${why}): remove the file if no shard is running, or choose another --out; --fresh starts over here`;
  return new EscapementError('E_RESULTS', what, { file });
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

function pathOf(outDir: string): string {
  return join(outDir, 'shards.json');
}
