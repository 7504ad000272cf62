import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

const ALL = 'test/**/*.test.ts';
/** Long by nature: `npm run test:long`. */
const LONG = 'test/**/*.long.test.ts';
/** Tests in real time: threads, sockets, clocks. They run after those that keep the processors busy. */
const LIVE = 'test/{live,load,tools}/**/*.test.ts';
/** Whole servers with models. */
const SERVE = 'test/serve/**/*.test.ts';
/**
 * What happens in real time, and what the operating system does with memory, depends on what else a machine does.
 * The tests that need a second try are named at the end of a run in CI.
 */
const REAL_TIME_RETRIES = 1;
/** Tests that replace modules for all that runs in their process. */
const MOCKING = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file.replaceAll('\\', '/')}`)
  .filter((file) => readFileSync(file, 'utf8').includes('vi.mock('));

export default defineConfig({
  test: {
    globalSetup: ['test/global-setup.ts'],
    maxWorkers: availableParallelism(),
    projects: [
      // Files that a process runs one after the other share its modules, which saves loading them 200 times.
      project('shared', {
        include: [ALL],
        exclude: [LIVE, SERVE, LONG, ...MOCKING],
        isolate: false,
        // One more than can run: pages of the documentation wait for the ports of each other.
        maxWorkers: availableParallelism() + 1,
      }),
      project('live', {
        include: [LIVE],
        exclude: [LONG, ...MOCKING],
        isolate: false,
        sequence: { groupOrder: 1 },
      }),
      project('isolated', {
        include: [SERVE, ...MOCKING],
        exclude: [LONG],
        sequence: { groupOrder: 1 },
      }),
      project('long', { include: [LONG], sequence: { groupOrder: 2 } }),
    ],
  },
});

function project(
  name: string,
  options: NonNullable<TestProjectInlineConfiguration['test']>,
): TestProjectInlineConfiguration {
  return {
    test: {
      name,
      setupFiles: ['test/setup.ts'],
      // Simulations are CPU-bound and deterministic: slow machines need time. What fails there fails twice.
      testTimeout: 300_000,
      hookTimeout: 300_000,
      retry: REAL_TIME_RETRIES,
      ...options,
    },
  };
}
