import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { parseProfile } from '../../../src/config/read-profile.js';
import { runCli, tempDir, words, writeIn } from '../run-cli.js';

const models = tempDir();
const make = (name: string, ...flags: string[]) =>
  runCli(['model', 'make', 'mlp', '--repository', models, '--name', name, '--input', '16', ...flags]);

beforeAll(async () => {
  expect((await make('small', '--classes', '10')).stdout).toMatch(
    /^276.*k parameters, .* written to .*model\.onnx/,
  );
});

test('make writes an FP16 model next to the FP32 one, which list shows', async () => {
  const dir = tempDir();
  const makeAt = (precision: string, ...flags: string[]) =>
    runCli(words`model make mlp --repository ${dir} --input 16 --precision ${precision} ${flags}`);
  expect((await makeAt('fp16')).stdout).toMatch(/ written to .*mlp\/1\/fp16\/model\.onnx\n$/);
  const missing = await runCli(['model', 'list', dir]);
  expect(missing.stdout).toMatch(
    /^mlp.* cannot be served: .*escapement model make ARCHITECTURE .*--name mlp$/m,
  );
  expect(missing.status).toBe(41);
  expect((await makeAt('fp32')).status).toBe(0);
  expect((await runCli(['model', 'list', dir])).stdout).toMatch(/^mlp +1 +fp32,fp16 +input FP32 16 /m);
  expect((await makeAt('fp16')).stderr).toMatch(/fp16\/model\.onnx: already exists; --force/);
  expect((await makeAt('fp16', '--force')).status).toBe(0);
  expect((await makeAt('bf16')).stderr).toMatch(
    /^escapement: E_USAGE: invalid value: --precision "bf16": must be one of "fp32", "fp16"/m,
  );
});

test('files derived from an FP16 model are next to it', async () => {
  const dir = tempDir();
  for (const precision of ['fp32', 'fp16']) {
    const flags = ['--repository', dir, '--input', '16', '--precision', precision];
    expect((await runCli(['model', 'make', 'mlp', ...flags])).status).toBe(0);
  }
  const flags = ['--set', 'runtime.precision=fp16', '--runs', '2', '--quiet'];
  expect((await runCli(['profile', 'measure', dir, ...flags])).status).toBe(0);
  expect(readdirSync(join(dir, 'mlp', '1', 'fp16'))).toContainEqual(expect.stringMatching(/^cpu-\w+\.ort$/));
  const path = join(dir, 'mlp', '1', 'fp16', 'profile.cpu.json');
  expect(parseProfile(readFileSync(path, 'utf8'), path)).toMatchObject({
    name: 'mlp',
    precision: 'FP16',
    inputBytes: 64,
  });
});

test('list shows what can be served, and names what cannot with the reason', async () => {
  const dir = tempDir();
  const made = ['--repository', dir, '--input', '4', '--name'];
  for (const name of ['a', 'c', 'typo']) await runCli(['model', 'make', 'mlp', ...made, name]);
  mkdirSync(join(dir, 'b', '1'), { recursive: true });
  writeIn(join(dir, 'b', '1'), 'model.onnx', 'nonsense');
  writeIn(join(dir, 'typo'), 'config.yaml', 'slo: fast');
  const { status, stdout, stderr } = await runCli(['model', 'list', dir]);
  expect(stdout.split('\n').map((line) => line.split(/[ ,]/)[0])).toEqual([
    ...['name', 'a', 'c', '', 'typo', 'b', ''],
  ]);
  expect(stdout).toMatch(/^typo cannot be served: .*typo\/config\.yaml:1: slo: must be a duration/m);
  expect(stdout).toMatch(/^b, version 1, cannot be served: .*b\/1\/model\.onnx: onnxruntime cannot use/m);
  expect([status, stderr]).toEqual([
    41,
    'escapement: E_MODEL_FILE: cannot be served: typo, b; see the reasons above\n',
  ]);
  const json = JSON.parse((await runCli(['model', 'list', dir, '--json'])).stdout);
  expect(json.models.map(({ name }: { name: string }) => name)).toEqual(['a', 'c']);
  expect(json.problems).toMatchObject([
    { name: 'typo', version: null, code: 'E_CONFIG_VALUE', reason: expect.stringContaining('config.yaml:1') },
    { name: 'b', version: '1', code: 'E_MODEL_FILE' },
  ]);
});

test('profile measure writes profiles that simulations read', async () => {
  const { status, stdout } = await runCli(['profile', 'measure', models, '--model', 'small', '--runs', '3']);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^INFER, batch 8 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +3 +\d+$/m);
  expect(stdout).toMatch(/^p99 \/ median of INFER is at most [\d.]+: durations /m);
  const path = join(models, 'small', '1', 'profile.cpu.json');
  const profile = parseProfile(readFileSync(path, 'utf8'), path);
  expect(profile).toMatchObject({ name: 'small', precision: 'FP32', inputBytes: 64, outputBytes: 40 });
  expect(profile.batches.map(({ batch, runs }) => [batch, runs])).toEqual([
    [1, 3],
    [2, 3],
    [4, 3],
    [8, 3],
  ]);
  expect(profile.source.batches).toMatch(/^measured by escapement with onnxruntime \d/);
  expect((await runCli(['profile', 'show', path])).status).toBe(0);
});

test('profile measure measures each length that config.yaml lists', async () => {
  const dir = tempDir();
  const made = await runCli(words`model make encoder --repository ${dir} --input 16 --classes 2`);
  expect(made.status).toBe(0);
  const settings = (buckets: string) =>
    writeIn(
      dir,
      'encoder/config.yaml',
      `batchSizes: [1, 2]\nfill: { input_ids: 0, attention_mask: 0 }\n${buckets}`,
    );
  settings('buckets: [4, 16]\n');
  const { status, stdout } = await runCli(['profile', 'measure', dir, '--runs', '2']);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^padding: padded inputs give the same answers as unpadded ones$/m);
  for (const [length, batch] of [
    [4, 1],
    [4, 2],
    [16, 1],
    [16, 2],
  ])
    expect(stdout).toMatch(new RegExp(`^INFER, length ${length}, batch ${batch} +[\\d.]+ `, 'm'));
  const path = join(dir, 'encoder', '1', 'profile.cpu.json');
  const profile = parseProfile(readFileSync(path, 'utf8'), path);
  expect(profile).toMatchObject({ length: 16, inputBytes: 2 * 16 * 8, outputBytes: (16 * 128 + 2) * 4 });
  expect(profile.shorter?.map(({ length, batches }) => [length, batches.length])).toEqual([[4, 2]]);
  // Longer than the model can: onnxruntime says so, for the length at which it fails.
  settings('buckets: [4, 17]\n');
  const failed = await runCli(['profile', 'measure', dir, '--runs', '2']);
  expect(failed.stderr).toMatch(/^escapement: E_MODEL_FILE: .*fails at length 17, which "buckets" .*\n$/m);
});

test('profile measure refuses a fill that changes answers, unless config.yaml says that rows are batched', async () => {
  const dir = tempDir();
  await runCli(['model', 'make', 'encoder', '--repository', dir, '--input', '16', '--classes', '2']);
  const settings = 'batchSizes: [1, 2]\nbuckets: [4, 8]\nfill: { input_ids: 0, attention_mask: 1 }\n';
  writeIn(dir, 'encoder/config.yaml', settings);
  const measure = () => runCli(['profile', 'measure', dir, '--runs', '2', '--quiet']);
  expect((await measure()).stderr).toMatch(
    /^escapement: E_MODEL_FILE: gives other answers to inputs that are padded .*: output tokens differs by .*\. Correct it, .*\n$/,
  );
  writeIn(dir, 'encoder/config.yaml', `${settings}batch: rows\n`);
  const { status, stdout } = await measure();
  expect([status, stdout]).toEqual([
    0,
    expect.stringMatching(/^warning: padded as config\.yaml says, but answers depend on it: /m),
  ]);
});

test('profile measure measures the other models where one is broken, and says which', async () => {
  const dir = tempDir();
  for (const name of ['good', 'typo'])
    await runCli(['model', 'make', 'mlp', '--repository', dir, '--name', name, '--input', '4']);
  writeIn(dir, 'typo/config.yaml', 'batchsizes: [1]\n');
  mkdirSync(join(dir, 'corrupt', '1'), { recursive: true });
  writeIn(dir, 'corrupt/1/model.onnx', 'no model');
  const { status, stdout, stderr } = await runCli(['profile', 'measure', dir, '--runs', '2', '--quiet']);
  expect([status, stderr]).toEqual([
    41,
    expect.stringMatching(
      /^escapement: E_MODEL_FILE: 2 of 3 models are not measured: typo: .*config\.yaml:1: batchsizes: .*; corrupt: .*\n$/,
    ),
  ]);
  expect(stdout).toMatch(/^good on ./);
  expect(existsSync(join(dir, 'good', '1', 'profile.cpu.json'))).toBe(true);
});

test.each([
  [['model', 'make', 'resnet19', '--repository', models], 2, /E_USAGE: .*architecture/],
  [['model', 'make', 'mlp', '--repository', models, '--name', 'n', '--input', '0'], 2, /E_USAGE: --input 0/],
  [
    ['profile', 'measure', models, '--model', 'small', '--batch-sizes', '2,4'],
    2,
    /E_USAGE: --batch-sizes 2,4/,
  ],
  [
    ['profile', 'measure', models, '--model', 'small', '--out', '/dev/null/p.json'],
    22,
    /E_FILE_WRITE: \/dev\/null\/p/,
  ],
])('%j fails in one line', async (args, status, message) => {
  const result = await runCli(args);
  expect(result.stderr).toMatch(message);
  expect(result.stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(result.status).toBe(status);
  expect(existsSync(join(models, 'n'))).toBe(false);
});
