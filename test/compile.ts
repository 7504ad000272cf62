import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type BuildOptions, build } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SRC = join(ROOT, 'src');
const DIST = join(ROOT, 'dist');

/** What runs in web pages only is in the bundle of the playground, as in what is published. */
const PAGE_ONLY = /^play[\\/](?:page|timeline)[\\/]/;

/** What processes and threads begin with, and share. */
const BUNDLED = /^chunks[\\/]/;

/** What `src/x/name.ts` compiles to, of this script or of tsc. */
const COMPILED = /\.(?:[cm]?js|d\.[cm]?ts)(?:\.map)?$/;

/**
 * Compiles src to dist in about a second, types unchecked: threads, child processes and the command line under test run
 * the source of now. `npm run build` makes what is published.
 */
export async function compile(): Promise<void> {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
    (file) => !PAGE_ONLY.test(file),
  );
  mkdirSync(DIST, { recursive: true });
  // By this file tsc believes that dist is its own output, and would not write it again.
  rmSync(join(DIST, '.tsbuildinfo'), { force: true });
  removeOrphans(new Set(files.map((file) => file.replace(/\.[cm]?ts$/, ''))));
  const options: BuildOptions = {
    outbase: SRC,
    outdir: DIST,
    sourcemap: true,
    target: 'es2023',
    logLevel: 'warning',
  };
  const sourcesOf = (extension: string) =>
    files.filter((file) => file.endsWith(extension)).map((file) => join(SRC, file));
  await Promise.all([
    build({ ...options, entryPoints: sourcesOf('.ts'), format: 'esm' }),
    build({ ...options, entryPoints: sourcesOf('.cts'), format: 'cjs', outExtension: { '.js': '.cjs' } }),
    promisify(execFile)(process.execPath, [join(SRC, 'play', 'bundle.mjs')]),
  ]);
  // Replaces some of what was compiled.
  await promisify(execFile)(process.execPath, [join(SRC, 'cli', 'bundle.mjs')]);
  chmodSync(join(DIST, 'cli', 'main.js'), 0o755);
}

/** Removes what was compiled from sources that are gone, so that no test passes by them. */
function removeOrphans(sources: ReadonlySet<string>): void {
  for (const file of readdirSync(DIST, { recursive: true, encoding: 'utf8' }))
    if (COMPILED.test(file) && !BUNDLED.test(file) && !sources.has(file.replace(COMPILED, '')))
      rmSync(join(DIST, file));
}
