import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeModel } from '../../../src/live/models/make/make-model.js';
import { readModel, readModelFile, readRepository } from '../../../src/live/models/repository.js';
import { ELEMENT_TYPES, failure, identityModel, tempDir, writeIn } from './fixtures.js';

const ONNX = identityModel(ELEMENT_TYPES.FP32, ['batch', 2]);
const FIXED = identityModel(ELEMENT_TYPES.FP32, [1, 2]);

describe('a repository', () => {
  it('is one folder, one model, or one file', async () => {
    const dir = tempDir();
    const path = writeIn(dir, 'm/3/model.onnx', ONNX);
    writeIn(dir, 'm/config.yaml', 'slo: 1s');
    const lone = writeIn(dir, 'alone.onnx', ONNX);
    const [model] = await readRepository(dir);
    expect(await readModel(join(dir, 'm'))).toEqual(model);
    expect(await readModelFile(path)).toEqual(model);
    expect(await readModelFile(lone)).toMatchObject({ name: 'alone', version: '1', sloNs: null });
  });
});

describe('precisions', () => {
  const FP16 = makeModel('mlp', { input: 2, seed: 1, classes: 2, precision: 'fp16' }).onnx;

  it('lie next to each other, with the settings of their model', async () => {
    const dir = tempDir();
    const full = writeIn(dir, 'm/3/model.onnx', ONNX);
    const half = writeIn(dir, 'm/3/fp16/model.onnx', FP16);
    writeIn(dir, 'm/config.yaml', 'slo: 1s');
    const [fp32] = await readRepository(dir);
    expect(fp32).toMatchObject({ onnxPath: full, precision: 'fp32', precisions: ['fp32', 'fp16'] });
    const [fp16] = await readRepository(dir, 'fp16');
    expect(fp16).toMatchObject({ onnxPath: half, precision: 'fp16', precisions: ['fp32', 'fp16'] });
    for (const { name, version, sloNs } of [fp32, fp16])
      expect([name, version, sloNs]).toEqual(['m', '3', 1e9]);
    expect(await readModel(join(dir, 'm'), 'fp16')).toEqual(fp16);
    expect(await readModelFile(half)).toEqual(fp16);
  });

  it('are named by the weights, wherever the file lies', async () => {
    const lone = await readModelFile(writeIn(tempDir(), 'alone.onnx', FP16));
    expect(lone).toMatchObject({ name: 'alone', precision: 'fp16', precisions: ['fp16'] });
  });

  it('need not all be there; what makes a missing one is said', async () => {
    const dir = tempDir();
    writeIn(dir, 'm/1/fp16/model.onnx', FP16);
    expect(await readModel(join(dir, 'm'), 'fp16')).toMatchObject({ precisions: ['fp16'] });
    const command = `escapement model make ARCHITECTURE --repository ${dir} --name m`;
    expect(await failure(readRepository(dir))).toMatchObject({
      code: 'E_MODEL_FILE',
      message: `${dir}/m/1/model.onnx: no such file: put the model there, or make one with: ${command}`,
    });
    writeIn(dir, 'full/1/model.onnx', ONNX);
    expect((await failure(readModel(join(dir, 'full'), 'fp16'))).message).toMatch(
      /full\/1\/fp16\/model\.onnx: no such file: .* --name full --precision fp16$/,
    );
  });
});

describe('mistakes', () => {
  const bad: [string, (dir: string) => void, string, RegExp][] = [
    ['no folder', () => {}, 'E_MODEL_FILE', /\/none: no such folder/],
    [
      'a file',
      (dir) => writeFileSync(join(dir, 'none'), ''),
      'E_MODEL_FILE',
      /\/none: is a file, not a folder/,
    ],
    ['no models', (dir) => mkdirSync(join(dir, 'none')), 'E_MODEL_FILE', /\/none: has no models.*model make/],
    [
      'no version',
      (dir) => writeIn(dir, 'none/m/model.onnx', ONNX),
      'E_MODEL_FILE',
      /none\/m: has no version: .*1\/model\.onnx/,
    ],
    ['no model', (dir) => writeIn(dir, 'none/m/2/x', ''), 'E_MODEL_FILE', /m\/2\/model\.onnx: no such file/],
    [
      'a corrupt model',
      (dir) => writeIn(dir, 'none/m/1/model.onnx', ONNX.subarray(0, 40)),
      'E_MODEL_FILE',
      /m\/1\/model\.onnx: onnxruntime cannot use the model on cpu: [^\n]+$/,
    ],
    ['a good and an empty one', twoModels, 'E_MODEL_FILE', /z\/1\/model\.onnx: onnxruntime cannot use/],
    [
      'an unknown setting',
      settings('slo: 1s\nbatchsizes: [1]'),
      'E_CONFIG_KEY',
      /config\.yaml:2: batchsizes: /,
    ],
    ['no SLO', settings('slo: 0ms'), 'E_CONFIG_VALUE', /slo: must be longer than 0/],
    [
      'no batch size 1',
      settings('batchSizes: [2, 4]'),
      'E_CONFIG_VALUE',
      /:1: batchSizes: must start with 1/,
    ],
    [
      'batch sizes beyond reason',
      settings('batchSizes: [1, 1000000000]'),
      'E_CONFIG_VALUE',
      /:1: batchSizes\.1: must be at most 1024/,
    ],
    ['no YAML', settings('slo: [1'), 'E_CONFIG_SYNTAX', /config\.yaml:1: /],
    [
      'batches of a model without',
      settings('batchSizes: [1, 2]', FIXED),
      'E_CONFIG_VALUE',
      /config\.yaml: batchSizes: the model takes no batches/,
    ],
  ];
  it.each(bad)('%s', async (_, prepare, code, message) => {
    const dir = tempDir();
    prepare(dir);
    const error = await failure(readRepository(join(dir, 'none')));
    expect(error.message).toMatch(message);
    expect(error.code).toBe(code);
  });

  function twoModels(dir: string): void {
    writeIn(dir, 'none/a/1/model.onnx', ONNX);
    writeIn(dir, 'none/z/1/model.onnx', '');
  }

  function settings(text: string, onnx = ONNX): (dir: string) => void {
    return (dir) => {
      writeIn(dir, 'none/m/1/model.onnx', onnx);
      writeIn(dir, 'none/m/config.yaml', text);
    };
  }
});
