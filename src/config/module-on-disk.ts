import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { EscapementError } from '../base/errors.js';
import { fileProblem } from '../base/files/disk-files.js';
import { inputPath } from '../base/files/input-path.js';
import type { LoadedModule, ModuleFile } from './experiment-host.js';
import { reasonOf } from './module-error.js';

/** A module of this machine, by its absolute path. */
export function moduleOnDisk(path: string): ModuleFile {
  return { path, load: () => load(path) };
}

async function load(path: string): Promise<LoadedModule> {
  let bytes: Buffer;
  try {
    bytes = await readFile(inputPath(path));
  } catch (error) {
    throw fileProblem(error, path);
  }
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  // With the digest in its address, a module that was edited is loaded again in a process that runs on.
  const address = `${pathToFileURL(path).href}?${digest}`;
  try {
    return { digest, exports: await import(address) };
  } catch (error) {
    const reason = reasonOf(error, path);
    const advice = /package 'escapement['/]/.test(reason) ? `: run npm install ${PACKAGE} in its folder` : '';
    throw new EscapementError('E_PLUGIN', `cannot be loaded: ${reason}${advice}`, { file: path });
  }
}

/** The folder of this package. src/config and dist/config are equally deep. */
const PACKAGE = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '');
