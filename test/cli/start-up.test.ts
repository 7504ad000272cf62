import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { ALL_COMMANDS } from './all-commands.js';
import { MAIN, ROOT, SMALL_EXPERIMENT, tempDir, writeIn } from './run-cli.js';

/** Files that printing a version may import. */
const MOST_OF_VERSION = 20;
/** Files that a simulation may import: each takes Node about a millisecond to find and open. */
const MOST_SCRIPTS = 130;
const CLI = join(ROOT, 'src', 'cli');

it.each(ALL_COMMANDS.map(({ name }) => name))('%s describes its flags with yargs alone', (name) => {
  expect(packagesBelow(join(CLI, 'commands', `${name.replace(' ', '-')}.ts`))).toEqual([]);
});

it('help and wrong flags import no package but yargs', () => {
  expect(packagesBelow(join(CLI, 'main.ts'))).toEqual(['yargs']);
});

it('simulate imports neither servers nor charts nor what runs models', () => {
  const file = writeIn(tempDir(), 'small.yaml', SMALL_EXPERIMENT);
  const scripts = scriptsOf(['simulate', file, '--quiet']);
  expect(scripts.filter((url) => url.includes('/dist/chunks/')).length).toBeGreaterThan(0);
  expect(scripts.length).toBeLessThan(MOST_SCRIPTS);
  const found = packagesAmong(scripts);
  const heavy = ['@grpc/grpc-js', 'pino', 'onnxruntime-node', 'vega', 'vega-lite', '@resvg/resvg-js'];
  expect(found.filter((name) => [...heavy, 'prom-client', 'piscina'].includes(name))).toEqual([]);
});

it('--version loads no more than the entry and what yargs needs', () => {
  const scripts = scriptsOf(['--version']);
  expect(packagesAmong(scripts)).toEqual([]);
  expect(scripts.length).toBeLessThan(MOST_OF_VERSION);
});

/** Packages that modules import when they are loaded, by their static imports of values. */
function packagesBelow(...files: readonly string[]): string[] {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(STATIC_IMPORT)) {
      if (name.startsWith('.')) visit(resolve(dirname(file), name.replace(/\.js$/, '.ts')));
      else if (!name.startsWith('node:')) packages.add(name);
    }
  };
  for (const file of files) visit(file);
  return [...packages];
}

const STATIC_IMPORT = /^(?:import|export) (?!type )[^;]*?from '([^']+)';/gm;

/** Files that a command line imports, from the list of scripts that Node writes for coverage. */
function scriptsOf(args: readonly string[]): string[] {
  const dir = tempDir();
  spawnSync(process.execPath, [MAIN, ...args], { cwd: ROOT, env: { ...process.env, NODE_V8_COVERAGE: dir } });
  return readdirSync(dir).flatMap((file) => {
    const { result } = JSON.parse(readFileSync(join(dir, file), 'utf8')) as { result: { url: string }[] };
    return result.map(({ url }) => url).filter((url) => url.startsWith('file:'));
  });
}

function packagesAmong(scripts: readonly string[]): string[] {
  const names = scripts.map((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1]);
  return names.filter((name) => name !== undefined);
}
