import { createRequire } from 'node:module';
import { sep } from 'node:path';
import { quoted } from '../../report/reproduce.js';

const ONNXRUNTIME = 'onnxruntime-node';

/**
 * The command that runs the install script of onnxruntime again, in the folder that it is installed in: elsewhere npm
 * finds nothing to rebuild and calls that success. `variables` such as `A=b` stand before it.
 */
export function rebuildCommand(variables = ''): string {
  const folder = installFolder();
  const words = ['npm', ...(folder === null ? [] : ['--prefix', quoted(folder)]), 'rebuild', ONNXRUNTIME];
  return [variables, ...words].filter((word) => word !== '').join(' ');
}

/** What holds the `node_modules` with onnxruntime; null: it is not installed. */
function installFolder(): string | null {
  try {
    const path = createRequire(import.meta.url).resolve(ONNXRUNTIME);
    return path.slice(0, path.lastIndexOf(`${sep}node_modules${sep}${ONNXRUNTIME}${sep}`));
  } catch {
    return null;
  }
}
