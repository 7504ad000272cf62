import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { benchCases } from './cases.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const EXPERIMENTS = fileURLToPath(new URL('../../experiments/', import.meta.url));
const RECORDED = new URL('instructions.json', import.meta.url);
/** A change of what a request takes by more than this is to be explained where the new figure is recorded. */
const TOLERANCE = 0.05;
const VALGRIND = ['--tool=cachegrind', '--cache-sim=no', '--cachegrind-out-file=/dev/null'];
/** Compiles and collects on the main thread, at the same points in every run. */
const NODE = ['--single-threaded', '--predictable-gc-schedule'];
/** Durations of a short and a long run of about 20,000 and 220,000 requests. Their difference leaves out the start. */
const CASES: Readonly<Record<string, readonly [string, string]>> = {
  '15-models-1-gpu': ['20s', '220s'],
  '60-models-4-gpus-escapement': ['7s', '74s'],
  'm-m-1': ['70s', '750s'],
};

const recorded: { node: string; arch: string; perRequest: Record<string, number> } = JSON.parse(
  readFileSync(RECORDED, 'utf8'),
);
// What the compiler emits differs between versions of Node.
const isComparable =
  spawnSync('valgrind', ['--version']).status === 0 &&
  (recorded.node === process.version || process.env.UPDATE_INSTRUCTIONS !== undefined) &&
  recorded.arch === process.arch;

/**
 * Counted instructions, which do not depend on what else the machine does. To record new figures, with the reason in
 * the commit: UPDATE_INSTRUCTIONS=1 npx vitest run test/bench/instructions.long.test.ts
 */
describe.skipIf(!isComparable)('instructions per request', () => {
  it.each(Object.keys(CASES))('are those recorded: %s', async (name) => {
    const [few, many] = await Promise.all(CASES[name].map((duration) => count(name, duration)));
    const perRequest = Math.round((many.instructions - few.instructions) / (many.requests - few.requests));
    if (process.env.UPDATE_INSTRUCTIONS !== undefined) {
      recorded.node = process.version;
      recorded.perRequest[name] = perRequest;
      writeFileSync(RECORDED, `${JSON.stringify(recorded, null, 2)}\n`);
    }
    expect(Math.abs(perRequest / recorded.perRequest[name] - 1), `${perRequest} now`).toBeLessThan(TOLERANCE);
  });
});

async function count(name: string, duration: string): Promise<{ instructions: number; requests: number }> {
  const { experiment, overrides } = benchCases(undefined).find((one) => one.name === name)!;
  const sets = [...overrides, `workload.duration=${duration}`].flatMap((one) => ['--set', one]);
  const simulate = [MAIN, 'simulate', '-', '--json', ...sets];
  const running = promisify(execFile)('valgrind', [...VALGRIND, process.execPath, ...NODE, ...simulate], {
    cwd: EXPERIMENTS,
    env: { ...process.env, NODE_OPTIONS: '' },
    maxBuffer: 1e8,
  });
  running.child.stdin!.end(experiment);
  const { stdout, stderr } = await running;
  const [, digits] = /I\s+refs:\s+([\d,]+)/.exec(stderr)!;
  return { instructions: Number(digits.replaceAll(',', '')), requests: JSON.parse(stdout).requests.offered };
}
