import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { quoted } from '../../../report/reproduce.js';

const ONNXRUNTIME = 'onnxruntime-node';
const MODULES = `${sep}node_modules${sep}`;
const CHECKOUT = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/[\\/]$/, '');

/**
 * The command that installs onnxruntime where escapement finds it, without its install script: that script only
 * downloads the CUDA libraries, and fails without a network. `modulePath` is a file of this package.
 */
export function installCommand(modulePath = fileURLToPath(import.meta.url)): string {
  const at = modulePath.indexOf(MODULES);
  if (at < 0) return `npm --prefix ${quoted(CHECKOUT)} ci`;
  const folder = modulePath.slice(0, at);
  // A global installation has no package.json above it.
  const where = existsSync(join(folder, 'package.json')) ? `--prefix ${quoted(folder)}` : '--global';
  return `npm ${where} install --ignore-scripts ${ONNXRUNTIME}`;
}

/**
 * The command that downloads the libraries of onnxruntime's CUDA provider: its install script. Not through npm, which
 * runs it only if the project allows that, and reports success if it does not.
 */
export function cudaCommand(): string {
  try {
    const script = createRequire(import.meta.url).resolve(`${ONNXRUNTIME}/script/install.js`);
    return `ONNXRUNTIME_NODE_INSTALL=cuda12 node ${quoted(script)}`;
  } catch {
    return installCommand();
  }
}
