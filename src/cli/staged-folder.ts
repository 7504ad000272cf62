import { readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../base/files/make-folder.js';
import { cannotWrite } from '../base/files/output-file.js';
import { interruptible } from './interruption.js';

/**
 * Runs `fill` on a hidden folder inside `dir` and moves the files up only when it succeeded: a run that
 * failed or was killed leaves nothing behind that looks finished, and the files of an earlier run stay. A run
 * that succeeded replaces all `names` that such a folder may hold: two runs are never mixed.
 * Throws `E_FILE_WRITE` where `dir` cannot be written, before `fill` does any work.
 */
export async function withStagedFolder<T>(
  dir: string,
  names: readonly string[],
  fill: (stage: string) => Promise<T>,
): Promise<T> {
  const stage = join(dir, '.unfinished');
  try {
    makeFolder(dir);
    rmSync(stage, { recursive: true, force: true });
    makeFolder(stage);
  } catch (error) {
    throw cannotWrite(dir, error);
  }
  const clean = () => rmSync(stage, { recursive: true, force: true });
  const work = async () => {
    const value = await fill(stage);
    for (const name of names) rmSync(join(dir, name), { recursive: true, force: true });
    for (const name of readdirSync(stage)) renameSync(join(stage, name), join(dir, name));
    return value;
  };
  const kept = () => {
    clean();
    return `nothing was written to ${dir}`;
  };
  return interruptible(work, kept).finally(clean);
}
