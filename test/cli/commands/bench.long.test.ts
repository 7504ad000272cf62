import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeModel } from '../../../src/live/models/make/make-model.js';
import type { BenchResult } from '../../../src/tools/bench/result.js';
import { writeIn } from '../../live/models/fixtures.js';
import { runCli, tempDir, words } from '../run-cli.js';

const QUICK = ['--trials', '2', '--duration', '1s', '--concurrency', '8'];
const PROFILE = {
  ...{ name: 'small', gpu: 'none', runtime: 'none', precision: 'FP32' },
  ...{ weightsBytes: 4_000_000, loadMs: 1, inputBytes: 64, outputBytes: 40 },
  batches: [
    { batch: 1, medianMs: 4 },
    { batch: 4, medianMs: 6 },
  ],
  source: { weights: 'made up', load: 'made up', copies: 'made up', batches: 'made up' },
};
let repository: string;

beforeAll(() => {
  repository = tempDir();
  const { onnx } = makeModel('mlp', { input: 16, seed: 1, classes: 4 });
  writeIn(repository, 'small/1/model.onnx', onnx);
  writeIn(repository, 'small/config.yaml', 'batchSizes: [1, 2]\n');
});

describe('escapement bench', () => {
  it('measures the stages of a repository and says which is the bottleneck', async () => {
    const { status, stdout, stderr } = await runCli(words`bench --repository ${repository} --json ${QUICK}`);
    expect(stderr).toContain('measuring small on cpu');
    expect(status).toBe(0);
    const result = JSON.parse(stdout) as BenchResult;
    expect(result).toMatchObject({
      name: repository,
      device: { provider: 'cpu' },
      protocol: 'http',
      trials: 2,
      seconds: 1,
      models: [{ name: 'small', inputBytes: 64, outputBytes: 16 }],
      vary: null,
    });
    const [{ value, clients, sloMs, batchSizes, stages, bottleneck }, ...others] = result.runs;
    expect(others).toEqual([]);
    expect({ value, clients, sloMs }).toEqual({ value: null, clients: 8, sloMs: 1000 });
    expect([1, 2]).toContain(batchSizes[0]);
    expect(stages.map(({ stage }) => stage)).toEqual(['io', 'synthetic', 'full']);
    for (const { stage, throughputRps, p99Ms, service } of stages) {
      expect(throughputRps.trials).toHaveLength(2);
      expect(throughputRps.min).toBeGreaterThan(0);
      expect(throughputRps.mean).toBeCloseTo((throughputRps.min + throughputRps.max) / 2, 5);
      expect(p99Ms === null).toBe(stage === 'synthetic');
      expect(service === null).toBe(stage === 'synthetic');
      expect(service?.meanBatch ?? 1).toBeGreaterThan(0);
    }
    expect(['io', 'device', 'between', 'generator', 'unclear']).toContain(bottleneck);
  });

  it.each([
    [[], 'E_USAGE', 'nothing to measure: give --repository FOLDER'],
    [['--repository', 'nowhere'], 'E_MODEL_FILE', 'nowhere: no such folder'],
    [['--repository', 'REPO', '--trials', 'many'], 'E_USAGE', '--trials many: must be a whole number'],
    [['--repository', 'REPO', '--duration', '0s'], 'E_USAGE', '--duration: must be longer than 0s'],
    [
      ['--repository', 'REPO', '--vary', 'runtime.intraThreads=1'],
      'E_USAGE',
      'did you mean "runtime.intraOpThreads"?',
    ],
    [
      ['--repository', 'REPO', '--vary', 'runtime.arena=true,perhaps'],
      'E_CONFIG_VALUE',
      '--set runtime.arena=perhaps',
    ],
    [
      ['--repository', 'REPO', '--out', '/dev/null/x'],
      'E_FILE_WRITE',
      '/dev/null/x/bench.json: cannot be written',
    ],
    [['--repository', 'REPO', '--protocol', 'tcp'], 'E_USAGE', 'must be one of "http", "grpc"'],
  ])('refuses %s', async (args, code, message) => {
    const given = args.map((arg) => (arg === 'REPO' ? repository : arg));
    const { status, stderr, stdout } = await runCli(['bench', ...given, '--quiet']);
    expect(stderr).toContain(code);
    expect(stderr).toContain(message);
    expect(stderr.trimEnd().split('\n').length).toBeLessThanOrEqual(2);
    expect(stdout).toBe('');
    expect(status).toBeGreaterThan(1);
  });

  it('measures a server on more and more GPUs, emulated by a profile', async () => {
    const device = `simulated:${writeIn(tempDir(), 'small.json', JSON.stringify(PROFILE))}`;
    const flags = ['--vary', 'gpus=1,2', '--trials', '1', '--duration', '1s', '--set', 'slo=20s'];
    const { status, stdout, stderr } = await runCli(words`bench --device ${device} --json --quiet ${flags}`);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const { device: made, models, runs } = JSON.parse(stdout) as BenchResult;
    expect(made.provider).toBe('simulated');
    expect(models).toHaveLength(2);
    expect(runs.map(({ value, bottleneck }) => [value, bottleneck])).toEqual([
      ['1', null],
      ['2', null],
    ]);
    for (const { stages } of runs) {
      expect(stages.map(({ stage }) => stage)).toEqual(['full']);
      expect(stages[0].throughputRps.mean).toBeGreaterThan(0);
      expect(stages[0].service?.failedShare).toBe(0);
    }
    const alone = await runCli(['bench', '--device', device, '--quiet']);
    expect(alone.stderr).toContain('the speed of a simulated device cannot be measured: give --device');
  });

  it('says why a model cannot run', async () => {
    const broken = tempDir();
    writeIn(broken, 'broken/1/model.onnx', 'no model');
    const { status, stderr } = await runCli(['bench', '--repository', broken, '--quiet']);
    expect(status).toBe(41);
    expect(stderr).toContain('E_MODEL_FILE');
    expect(existsSync(join(broken, 'broken', '1', 'profile.cpu.json'))).toBe(false);
  });
});
