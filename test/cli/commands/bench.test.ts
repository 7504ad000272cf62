import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeModel } from '../../../src/live/models/make/make-model.js';
import { writeIn } from '../../live/models/fixtures.js';
import { runCli, tempDir } from '../run-cli.js';

let repository: string;

beforeAll(() => {
  repository = tempDir();
  const { onnx } = makeModel('mlp', { input: 16, seed: 1, classes: 4 });
  writeIn(repository, 'small/1/model.onnx', onnx);
  writeIn(repository, 'small/config.yaml', 'batchSizes: [1, 2]\n');
});

describe('escapement bench', () => {
  it.each([
    [[], 'E_USAGE', 'nothing to measure: give --repository FOLDER'],
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

  it('says why a model cannot run', async () => {
    const broken = tempDir();
    writeIn(broken, 'broken/1/model.onnx', 'no model');
    const { status, stderr } = await runCli(['bench', '--repository', broken, '--quiet']);
    expect(status).toBe(41);
    expect(stderr).toContain('E_MODEL_FILE');
    expect(existsSync(join(broken, 'broken', '1', 'profile.cpu.json'))).toBe(false);
  });
});
