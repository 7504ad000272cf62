import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve, sep } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

const ALL = 'test/**/*.test.ts';
/** Long by nature, such as whole servers and the commands of the documentation's pages: `npm run test:long`. */
const LONG = ['test/**/*.long.test.ts', 'test/{conform,docs/shell,serve}/**/*.test.ts'];
/** Fresh seeds, real processes that fail, figures of this machine: `npm run soak`, and never in CI. */
const SOAK = 'test/**/*.soak.test.ts';
/** What needs a whole machine of its own to be made: `npm run test:release`, before a release. */
const RELEASE = 'test/**/*.release.test.ts';
/** Threads and sockets. They run after those that keep the processors busy. */
const LIVE = 'test/{live,load,tools}/**/*.test.ts';
/** Tests that replace modules for all that runs in their process. */
const MOCKING = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file.replaceAll('\\', '/')}`)
  .filter((file) => readFileSync(file, 'utf8').includes('vi.mock('));

const SRC = resolve('src') + sep;
const DIST = resolve('dist') + sep;
/** Bundles: what they hold is not what tests import besides. */
const BUNDLED = ['cli/main.js', 'run/sweep/cell-jobs.js'].map((file) => join(DIST, file));

/**
 * Node loads the code under test as it was compiled, a third faster than vitest runs it from source. Watch mode, which
 * has to know what a file of tests depends on, keeps to the source.
 */
const compiled = {
  name: 'compiled',
  enforce: 'pre' as const,
  resolveId(id: string, importer = '') {
    const file = resolve(dirname(importer), id);
    if (!id.startsWith('.') || !file.startsWith(SRC)) return undefined;
    const output = join(DIST, file.slice(SRC.length));
    return existsSync(output) && !BUNDLED.includes(output) ? output : undefined;
  },
};
const FROM_DIST = process.argv.includes('run') ? [compiled] : [];

export default defineConfig({
  test: {
    globalSetup: ['test/global-setup.ts'],
    // Many files wait for servers, and all for whatever else keeps the processors busy.
    maxWorkers: 2 * availableParallelism(),
    projects: [
      // Files that a process runs one after the other share its modules, which saves loading them 200 times.
      project('shared', {
        include: [ALL],
        exclude: [LIVE, ...LONG, SOAK, RELEASE, ...MOCKING],
        isolate: false,
      }),
      project('live', {
        include: [LIVE],
        exclude: [...LONG, SOAK, ...MOCKING],
        isolate: false,
        sequence: { groupOrder: 1 },
      }),
      project('isolated', {
        include: MOCKING,
        exclude: [...LONG, SOAK],
        sequence: { groupOrder: 1 },
      }),
      project('long', {
        include: LONG,
        exclude: [SOAK, ...MOCKING],
        sequence: { groupOrder: 2 },
      }),
      project('long-isolated', { include: MOCKING.filter((file) => file.includes('.long.')) }),
      // Only if they are asked for by name: a folder of tests has none of them.
      ...Object.entries({ soak: SOAK, release: RELEASE })
        .filter(([name]) => process.argv.includes(`--project=${name}`))
        .map(([name, files]) => project(name, { include: [files] })),
    ],
  },
});

function project(
  name: string,
  options: NonNullable<TestProjectInlineConfiguration['test']>,
): TestProjectInlineConfiguration {
  return {
    // Modules that Node has loaded cannot be replaced.
    plugins: name.includes('isolated') ? [] : FROM_DIST,
    test: {
      name,
      server: { deps: { external: [/\/dist\/.*\.js$/] } },
      setupFiles: ['test/setup.ts'],
      // Slow and busy machines need time. Nothing is tried again: a test that fails by chance is a bug.
      testTimeout: 300_000,
      hookTimeout: 300_000,
      expect: { poll: { timeout: 240_000 } },
      ...options,
    },
  };
}
