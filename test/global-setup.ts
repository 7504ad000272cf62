import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Compiles once before all tests, for those that run the command line as users do. */
export default function setup(): void {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const compiler = fileURLToPath(import.meta.resolve('typescript/bin/tsc'));
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
}
