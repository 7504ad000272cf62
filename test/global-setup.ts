import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Exit status of tsc when it wrote nothing. Mere type errors are for the linter to report. */
const OUTPUTS_SKIPPED = 1;

/** Compiles once before all tests, for those that run the command line as users do. */
export default function setup(): void {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status === null || status === OUTPUTS_SKIPPED)
    throw new Error('cannot compile escapement before its tests');
}
