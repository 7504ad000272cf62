import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeModel } from '../../../src/live/models/make/make-model.js';
import type { BenchResult } from '../../../src/tools/bench/result.js';
import { writeIn } from '../../live/models/fixtures.js';
import { runCli, spawnCli, tempDir } from '../run-cli.js';

const QUICK = ['--trials', '2', '--duration', '0.3s', '--concurrency', '8'];
let repository: string;

beforeAll(() => {
  repository = tempDir();
  const { onnx } = makeModel('mlp', { input: 16, seed: 1, classes: 4 });
  writeIn(repository, 'small/1/model.onnx', onnx);
  writeIn(repository, 'small/config.yaml', 'batchSizes: [1, 2]\n');
});

/** Processes of benchmarks that still run. */
function children(): string[] {
  const commands = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  return commands.filter((command) => command.includes(join('dist', 'tools', 'bench', 'child.js')));
}

describe('escapement bench', () => {
  it('varies one key, and writes the result', async () => {
    const out = join(tempDir(), 'out');
    const vary = ['--vary', 'policy.maxBatch=1,2', '--protocol', 'grpc', '--out', out];
    const { status, stdout } = await runCli(['bench', '--repository', repository, ...vary, ...QUICK]);
    expect(status).toBe(0);
    expect(stdout).toContain('by max_batch:');
    expect(stdout).toContain('bottleneck at max_batch 2: ');
    expect(stdout).toContain(`result: ${join(out, 'bench.json')}`);
    const { vary: varied, runs } = JSON.parse(readFileSync(join(out, 'bench.json'), 'utf8')) as BenchResult;
    expect(varied).toEqual({ key: 'policy.maxBatch', values: ['1', '2'] });
    expect(runs.map(({ value, batchSizes }) => [value, ...batchSizes])).toEqual([
      ['1', 1],
      ['2', expect.any(Number)],
    ]);
  });

  it('leaves no process behind when it is interrupted', async () => {
    const before = children();
    const { status } = await spawnCli(
      ['bench', '--repository', repository, '--vary', 'slo=1s,2s', '--trials', '2', '--duration', '1s'],
      { interruptWhen: (stderr) => /^bench \d+% /m.test(stderr) },
    );
    expect(status).toBe(130);
    // A process that was killed takes a moment to be gone.
    while (children().some((child) => !before.includes(child))) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
});
