import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { BenchResult } from '../../src/bottleneck/result.js';
import { makeModel } from '../../src/live/models/make/make-model.js';
import { writeIn } from '../live/models/fixtures.js';
import { runCli, tempDir } from './run-cli.js';

const QUICK = ['--trials', '2', '--seconds', '0.3', '--clients', '8'];
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
  return commands.filter((command) => command.includes(join('dist', 'bottleneck', 'child', 'main.js')));
}

describe('escapement bench', () => {
  it('measures the stages of a repository and says which is the narrowest', async () => {
    const { status, stdout, stderr } = await runCli([
      ...['bench', '--repository', repository, '--json', '--remote'],
      ...QUICK,
    ]);
    expect(stderr).toContain('measuring small on cpu');
    expect(status).toBe(0);
    const result = JSON.parse(stdout) as BenchResult;
    expect(result).toMatchObject({
      name: repository,
      device: { provider: 'cpu' },
      protocol: 'http',
      trials: 2,
      seconds: 0.3,
      models: [{ name: 'small', share: 1, inputBytes: 64, outputBytes: 16 }],
      vary: null,
      precision: null,
    });
    const [{ value, clients, sloMs, batchSizes, stages, verdict }, ...others] = result.runs;
    expect(others).toEqual([]);
    expect({ value, clients, sloMs }).toEqual({ value: null, clients: 8, sloMs: 1000 });
    expect([1, 2]).toContain(batchSizes[0]);
    expect(stages.map(({ stage }) => stage)).toEqual(['io', 'remote', 'synthetic', 'full']);
    for (const { stage, requestsPerS, p99Ms, service } of stages) {
      expect(requestsPerS.trials).toHaveLength(2);
      expect(requestsPerS.min).toBeGreaterThan(0);
      expect(requestsPerS.mean).toBeCloseTo((requestsPerS.min + requestsPerS.max) / 2, 5);
      expect(p99Ms === null).toBe(stage === 'synthetic');
      expect(service === null).toBe(stage === 'synthetic');
      expect(service?.meanBatch ?? 1).toBeGreaterThan(0);
    }
    expect(['io', 'device', 'between', 'generator', 'unclear']).toContain(verdict.narrowest);
  });

  it('varies one key, and writes results, chart and page', async () => {
    const out = join(tempDir(), 'out');
    const vary = ['--vary', 'batchSize=1,2', '--protocol', 'grpc', '--out', out];
    const { status, stdout } = await runCli(['bench', '--repository', repository, ...vary, ...QUICK]);
    expect(status).toBe(0);
    expect(stdout).toContain('by batchSize:');
    expect(stdout).toContain('batchSize 2: ');
    expect(stdout).toContain(`report: ${join(out, 'bench.html')}`);
    const { vary: varied, runs } = JSON.parse(readFileSync(join(out, 'bench.json'), 'utf8')) as BenchResult;
    expect(varied).toEqual({ key: 'batchSize', values: ['1', '2'] });
    expect(runs.map(({ value, batchSizes }) => [value, ...batchSizes])).toEqual([
      ['1', 1],
      ['2', 2],
    ]);
    expect(readdirSync(join(out, 'charts')).sort()).toEqual(['stages.png', 'stages.svg', 'stages.vl.json']);
    expect(readFileSync(join(out, 'bench.html'), 'utf8')).toContain('escapement bench');
  });

  it('takes models, mix and settings of an experiment', async () => {
    const file = writeIn(
      tempDir(),
      'live.yaml',
      `models:
  - { kind: onnx, name: often, path: ${join(repository, 'small')} }
  - { kind: onnx, name: seldom, path: ${join(repository, 'small')} }
  - { kind: onnx, name: never, path: ${join(repository, 'small')} }
workload:
  - { kind: fixed, rate: 30/s, duration: 10s, models: [often] }
  - { kind: fixed, rate: 10/s, duration: 10s, models: [seldom] }
slo: 2s
policy: { kind: fifo, maxBatch: 1 }
`,
    );
    const { status, stdout } = await runCli(['bench', '--experiment', file, '--json', ...QUICK]);
    expect(status).toBe(0);
    const { models, runs } = JSON.parse(stdout) as BenchResult;
    expect(models.map(({ name, share }) => [name, share])).toEqual([
      ['often', 0.75],
      ['seldom', 0.25],
      ['never', 0],
    ]);
    expect(runs[0]).toMatchObject({ sloMs: 2000, batchSizes: [1, 1, null] });
  });

  it('leaves no process behind when it is interrupted', async () => {
    const before = children();
    const { status } = await runCli(
      ['bench', '--repository', repository, '--vary', 'slo=1s,2s', '--trials', '2', '--seconds', '1'],
      { interruptWhen: (stderr) => /^bench \d+% /m.test(stderr) },
    );
    expect(status).toBe(130);
    // A process that was killed takes a moment to be gone.
    while (children().some((child) => !before.includes(child))) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });

  it.each([
    [[], 'E_USAGE', 'name what to measure: --repository DIR, or --experiment FILE'],
    [['--repository', 'nowhere'], 'E_MODEL_FILE', 'nowhere: no such folder'],
    [['--repository', 'REPO', '--trials', 'many'], 'E_USAGE', '--trials many: write a whole number'],
    [['--repository', 'REPO', '--seconds', '0'], 'E_USAGE', '--seconds 0: write a number of seconds above 0'],
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
    [['--repository', 'REPO', '--vary', 'batchSize=2,3'], 'E_CONFIG_VALUE', 'model small has 1, 2, not 3'],
    [['--repository', 'REPO', '--device', 'simulated:x.json'], 'E_USAGE', 'choose one of cpu, webgpu'],
    [
      ['--repository', 'REPO', '--out', '/dev/null/x'],
      'E_FILE_WRITE',
      '/dev/null/x/bench.json: cannot be written',
    ],
    [['--repository', 'REPO', '--protocol', 'tcp'], 'E_USAGE', 'Choices: "http", "grpc"'],
  ])('refuses %s', async (args, code, message) => {
    const given = args.map((arg) => (arg === 'REPO' ? repository : arg));
    const { status, stderr, stdout } = await runCli(['bench', ...given, '--quiet']);
    expect(stderr).toContain(code);
    expect(stderr).toContain(message);
    expect(stderr.trimEnd().split('\n').length).toBeLessThanOrEqual(2);
    expect(stdout).toBe('');
    expect(status).toBeGreaterThan(1);
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
