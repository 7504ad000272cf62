import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ROOT } from '../../cli/run-cli.js';

const RACE = `
import { closeSync } from 'node:fs';
import { createNumbered } from './dist/base/files/numbered-files.js';
for (let i = 0; i < 100; i++) {
  const { path, fd } = createNumbered(process.argv[1]);
  closeSync(fd);
  console.log(path);
}`;

/** A process that makes a hundred files of a name; the names that they got. */
export async function runOnce(name: string): Promise<string[]> {
  const args = ['--input-type=module', '--eval', RACE, name];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  return stdout.trimEnd().split('\n');
}
