import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cannotWrite } from '../files/output-file.js';

/**
 * Runs `fill` on a hidden folder inside `dir` and moves the files up only when it succeeded: a run that
 * failed or was killed leaves nothing behind that looks finished, and the files of an earlier run stay.
 * Throws `E_FILE_WRITE` where `dir` cannot be written, before `fill` does any work.
 */
export async function withStagedFolder<T>(dir: string, fill: (stage: string) => Promise<T>): Promise<T> {
  const stage = join(dir, '.unfinished');
  try {
    mkdirSync(dir, { recursive: true });
    rmSync(stage, { recursive: true, force: true });
    mkdirSync(stage);
  } catch (error) {
    throw cannotWrite(dir, error);
  }
  try {
    const value = await fill(stage);
    for (const name of readdirSync(stage)) renameSync(join(stage, name), join(dir, name));
    return value;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}
