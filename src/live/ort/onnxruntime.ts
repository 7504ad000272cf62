import './environment.js';
import { createRequire } from 'node:module';
import { EscapementError } from '../../base/errors.js';

const PACKAGE = 'onnxruntime-node';

/**
 * The library that runs models, loaded at the first call in each thread. It is an optional peer of this package: only
 * live mode needs it, and it takes more space than everything else together. Throws `E_DEVICE` if it is not installed
 * or cannot be loaded.
 */
export function onnxruntime(): Onnxruntime {
  loaded ??= load();
  return loaded;
}

type Onnxruntime = typeof import('onnxruntime-node');

let loaded: Onnxruntime | undefined;

function load(): Onnxruntime {
  const require = createRequire(import.meta.url);
  try {
    require.resolve(PACKAGE);
  } catch {
    // Its install script only downloads CUDA's libraries, and fails without a network.
    throw new EscapementError(
      'E_DEVICE',
      `${PACKAGE}, which runs models, is not installed: run npm install --ignore-scripts ${PACKAGE} ` +
        '(with --global if escapement is installed globally); simulations do not need it',
    );
  }
  try {
    return require(PACKAGE);
  } catch (error) {
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new EscapementError('E_DEVICE', `${PACKAGE} cannot be loaded (${reason}): install another version`);
  }
}
