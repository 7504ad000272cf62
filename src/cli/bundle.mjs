import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, transform } from 'esbuild';

/*
 * Bundles what processes and threads begin with, so that a command starts within half a second: four hundred files take
 * Node longer to find and open than a short simulation takes. What is compiled file by file stays as it is, for those who
 * use escapement as a library; only the entries are replaced. What they share is in dist/chunks.
 */

const SRC = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(SRC, '../dist');
const CHUNKS = 'chunks';

/** Packages that every simulation needs. Others are loaded from where they are, by commands that use them. */
const INCLUDED = ['cli-progress', 'papaparse', 'pathe', 'seedrandom', 'tinyqueue', 'yaml', 'yargs', 'zod'];

/** Packages of CommonJS need modules of Node only. */
const REQUIRE = 'const require = (name) => process.getBuiltinModule(name);';

const packages = {
  name: 'packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[@a-z]/ }, ({ path, importer }) => {
      const name = path.split('/')[0];
      const isOurs = !importer.includes('node_modules');
      return isOurs && !INCLUDED.includes(name) ? { path, external: true } : undefined;
    });
  },
};

/** A module that looks for files next to it finds them where it would be if it were compiled alone. */
const places = {
  name: 'places',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (!path.startsWith(SRC)) return undefined;
      const compiled = relative(join(DIST, CHUNKS), join(DIST, relative(SRC, path))).replace(/\.ts$/, '.js');
      const place = `new URL(${JSON.stringify(compiled.replaceAll('\\', '/'))}, import.meta.url).href`;
      const contents = readFileSync(path, 'utf8').replaceAll('import.meta.url', place);
      return { contents, loader: 'ts' };
    });
  },
};

const ENTRIES = { main: join(SRC, 'cli/main.ts'), 'cell-jobs': join(SRC, 'run/sweep/cell-jobs.ts') };
const { outputFiles } = await build({
  entryPoints: ENTRIES,
  outdir: join(DIST, CHUNKS),
  bundle: true,
  splitting: true,
  format: 'esm',
  // Constants of other modules become numbers, which a loop that reads them millions of times per second notices.
  minifySyntax: true,
  platform: 'node',
  target: 'es2023',
  sourcemap: true,
  banner: { js: REQUIRE },
  plugins: [packages, places],
  logLevel: 'warning',
  write: false,
});
mkdirSync(join(DIST, CHUNKS), { recursive: true });
// `npx` in a checkout builds each time, and another command may be starting: what is imported is written first.
const isEntry = ({ path }) => basename(path, '.js') in ENTRIES;
for (const file of outputFiles.filter((output) => !isEntry(output))) await writeCompiled(file);
for (const file of outputFiles.filter(isEntry)) await writeCompiled(file);
writeWhereChanged(join(DIST, 'cli/main.js'), `#!/usr/bin/env node\nimport '../${CHUNKS}/main.js';\n`);
writeWhereChanged(join(DIST, 'run/sweep/cell-jobs.js'), `export * from '../../${CHUNKS}/cell-jobs.js';\n`);
const written = new Set(outputFiles.map(({ path }) => basename(path)));
for (const name of readdirSync(join(DIST, CHUNKS))) {
  if (!written.has(name)) rmSync(join(DIST, CHUNKS, name));
}

/**
 * Declares classes and constants by `const` again, where esbuild uses `var`: V8 compiles their values into the functions
 * that use them. A statement that also declares a variable stays as it is.
 */
async function writeCompiled({ path, text }) {
  const compiled = text.replace(/^var (?=[A-Z]\w* = )(?!.*, [a-z]\w* = )/gm, 'const ');
  if (path.endsWith('.js')) await transform(compiled, { logOverride: { 'assign-to-constant': 'error' } });
  writeWhereChanged(path, compiled);
}

function writeWhereChanged(path, text) {
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
}
