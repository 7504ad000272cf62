import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ON_DISK } from '../../../src/config/files-on-disk.js';
import { onnxFile, repositoryName } from '../../../src/config/onnx-model.js';
import { readModelFile } from '../../../src/live/models/repository.js';
import {
  findVersion,
  repositoryWith,
  scanRepositories,
  scanRepository,
} from '../../../src/live/models/scan.js';
import { ELEMENT_TYPES, failure, identityModel, scalingModel, tempDir, writeIn } from './fixtures.js';
import { encodeGraph, node } from './small-graph.js';

const ONNX = identityModel(ELEMENT_TYPES.FP32, ['batch', 2]);

const ROWS = ['batch', 2];
const sumModel = encodeGraph({
  inputs: ['a', 'b'].map((name) => ({ name, dims: ROWS })),
  outputs: [{ name: 'c', dims: ROWS }],
  nodes: [node('Add', ['a', 'b'], 'c')],
});

function found(dir: string): string[] {
  return scanRepository(dir, 'fp32').versions.map(({ name, version }) => `${name}/${version}`);
}

describe('looking at a repository', () => {
  it('names what is no model, and serves the rest', () => {
    const dir = tempDir();
    writeIn(dir, 'good/1/model.onnx', ONNX);
    writeIn(dir, 'good/2/.keep', '');
    mkdirSync(join(dir, 'good/3'));
    mkdirSync(join(dir, 'good/notes'));
    mkdirSync(join(dir, 'lost+found'));
    writeIn(dir, 'README.md', 'text');
    writeIn(dir, '.git/HEAD', 'text');
    symlinkSync('circle', join(dir, 'circle'));
    const scan = scanRepository(dir, 'fp32');
    expect(scan.versions.map(({ name, version }) => `${name}/${version}`)).toEqual(['good/1']);
    expect(scan.skipped).toEqual(['.git', 'README.md', 'circle', 'good/notes', 'good/3', 'lost+found']);
    expect(scan.problems.map(({ name, version }) => [name, version])).toEqual([['good', '2']]);
    expect(scan.problems[0].error.message).toMatch(/good\/2\/model\.onnx: no such file/);
  });

  it('finds problems of each model, which cost the others nothing', () => {
    const dir = tempDir();
    writeIn(dir, 'a/1/model.onnx', ONNX);
    writeIn(dir, 'flat/model.onnx', ONNX);
    writeIn(dir, 'yaml/1/model.onnx', ONNX);
    writeIn(dir, 'yaml/config.yaml', 'sloo: 1s');
    writeIn(dir, 'foreign/1/model.plan', '');
    writeIn(dir, 'foreign/config.pbtxt', 'backend: "tensorrt"');
    writeIn(dir, 'z/1/model.onnx', ONNX);
    const { problems } = scanRepository(dir, 'fp32');
    expect(found(dir)).toEqual(['a/1', 'z/1']);
    expect(problems.map(({ name, version, error }) => [name, version, error.code])).toEqual([
      ['flat', null, 'E_MODEL_FILE'],
      ['foreign', null, 'E_CONFIG_VALUE'],
      ['yaml', null, 'E_CONFIG_KEY'],
    ]);
  });

  it.each(['config.pbtxt', 'config.yaml'])('does not wait for the writer of a pipe: %s', (file) => {
    const dir = tempDir();
    writeIn(dir, 'a/1/model.onnx', ONNX);
    writeIn(dir, 'pipe/1/model.onnx', ONNX);
    execFileSync('mkfifo', [join(dir, 'pipe', file)]);
    const { problems } = scanRepository(dir, 'fp32');
    expect(found(dir)).toEqual(['a/1']);
    expect(problems.map(({ name, error }) => [name, error.code])).toEqual([['pipe', 'E_CONFIG_VALUE']]);
    expect(problems[0].error.message).toContain('is not a file');
  });

  it('says what is wrong with links that lead in a circle', async () => {
    const dir = tempDir();
    mkdirSync(join(dir, 'file/1'), { recursive: true });
    symlinkSync('model.onnx', join(dir, 'file/1/model.onnx'));
    writeIn(dir, 'folder/config.yaml', '');
    symlinkSync('1', join(dir, 'folder/1'));
    symlinkSync('.', join(dir, 'inside'));
    const path = writeIn(dir, 'labels/1/model.onnx', ONNX);
    writeIn(dir, 'labels/config.yaml', 'labels: { y: y.txt }');
    symlinkSync('y.txt', join(dir, 'labels/y.txt'));
    const { problems } = scanRepository(dir, 'fp32');
    expect(found(dir)).toEqual(['labels/1']);
    expect(problems.map(({ name, error }) => [name, error.code])).toEqual([
      ['file', 'E_MODEL_FILE'],
      ['folder', 'E_MODEL_FILE'],
    ]);
    await expect(readModelFile(path)).rejects.toMatchObject({ code: 'E_FILE_MISSING' });
  });

  it.skipIf(process.getuid?.() === 0)('says that the repository itself cannot be read', () => {
    const dir = tempDir();
    chmodSync(dir, 0o000);
    expect(() => scanRepository(dir, 'fp32')).toThrow(`${dir}: cannot be read: EACCES`);
    chmodSync(dir, 0o700);
  });

  it.each([
    ['', '', ['3']],
    ['versions: latest', '', ['3']],
    ['versions: { latest: 2 }', '', ['2', '3']],
    ['versions: all', '', ['1', '2', '3']],
    ['versions: [1, 3]', '', ['1', '3']],
    ['', 'version_policy: { all { } }', ['1', '2', '3']],
    ['', 'version_policy: { latest { num_versions: 2 } }', ['2', '3']],
    ['', 'version_policy { specific { versions: [ 1 ] } }', ['1']],
    ['versions: [2]', 'version_policy: { all {} }', ['2']],
  ])('serves the versions that the settings name: %s %s', (yaml, pbtxt, expected) => {
    const dir = tempDir();
    for (const version of ['1', '2', '3']) writeIn(dir, `m/${version}/model.onnx`, ONNX);
    writeIn(dir, 'm/10/README', 'no model here');
    if (yaml !== '') writeIn(dir, 'm/config.yaml', yaml);
    if (pbtxt !== '') writeIn(dir, 'm/config.pbtxt', pbtxt);
    expect(found(dir)).toEqual(expected.map((version) => `m/${version}`));
  });

  it('misses versions that were asked for', () => {
    const dir = tempDir();
    writeIn(dir, 'm/1/model.onnx', ONNX);
    writeIn(dir, 'm/config.yaml', 'versions: [1, 4]');
    const { problems } = scanRepository(dir, 'fp32');
    expect(problems.map(({ version }) => version)).toEqual(['4']);
  });
});

describe('config.pbtxt', () => {
  const PLAIN = `
    name: "m"
    platform: "onnxruntime_onnx"
    max_batch_size: 4
    input [ { name: "x" data_type: TYPE_FP32 dims: [ 2 ] } ]
    output [ { name: "y" data_type: TYPE_FP32 dims: [ 2 ] label_filename: "labels.txt" } ]`;

  it('sets batch sizes and labels; what has no counterpart is named once', async () => {
    const dir = tempDir();
    const path = writeIn(dir, 'm/1/model.onnx', ONNX);
    writeIn(dir, 'm/labels.txt', 'cat\ndog\n');
    writeIn(
      dir,
      'm/config.pbtxt',
      `${PLAIN} instance_group [ { count: 2 kind: KIND_GPU } ] dynamic_batching { max_queue_delay_microseconds: 100 }`,
    );
    const model = await readModelFile(path);
    expect(model.batchSizes).toEqual([1, 2, 4]);
    expect(model.labels).toEqual([['cat', 'dog']]);
    expect(scanRepository(dir, 'fp32').notes).toEqual([
      `${join(dir, 'm/config.pbtxt')}: instance_group, dynamic_batching.max_queue_delay_microseconds have no counterpart here and no effect`,
    ]);
  });

  it.each([
    ['max_batch_size: 16', [1, 2, 4, 8]],
    ['max_batch_size: 6', [1, 2, 4, 6]],
    ['max_batch_size: 1', [1]],
    ['max_batch_size: 0x10 dynamic_batching { preferred_batch_size: [ 4, 16 ] }', [1, 4, 16]],
    ['dynamic_batching { preferred_batch_size: 3 }', [1, 3]],
    ['max_batch_size: 0', [1]],
  ])('%s', async (text, sizes) => {
    const dir = tempDir();
    const path = writeIn(dir, 'm/1/model.onnx', ONNX);
    writeIn(dir, 'm/config.pbtxt', text);
    expect((await readModelFile(path)).batchSizes).toEqual(sizes);
    writeIn(dir, 'm/config.yaml', 'batch: rows\nbatchSizes: [1, 5]');
    expect((await readModelFile(path)).batchSizes).toEqual([1, 5]);
  });

  it.each([
    [
      'max_batch_size: 16 dynamic_batching { preferred_batch_size: 32 }',
      /must be .* at most max_batch_size, 16/,
    ],
    ['max_batch_size: "8"', /max_batch_size: must be a whole number/],
    ['max_batch_size: 8.0', /max_batch_size: must be a whole number/],
    ['max_batch_size: 4\nmax_batch_size: 8', /:2: max_batch_size: is given twice/],
    ['input { name: "x" data_type: TYPE_FP31 }', /data_type: must be an element type/],
    ['input { name: "x" data_type: 1 }', /input: x is of type FP32, not BOOL/],
    ['max_batch_size: 4\ninput { name: "x" dims: [ -1, 2 ] }', /write dims: \[ 2 \]/],
    ['max_batch_size: 0\ninput { name: "x" dims: [ 2 ] }', /write dims: \[ -1, 2 \]/],
    ['model_transaction_policy { decoupled: t }', /several answers to a request/],
    ['version_policy { latest {} all {} }', /version_policy: must be latest, all or/],
    ['name: m', /name: must be a text in quotes/],
    [
      'input {\n  name: "x" dims: [ 5 ]\n  reshape { shape: [ 2 ] } }',
      /:3: reshape: x cannot be reshaped: leave it out, and write in dims the shape that the model takes/,
    ],
    ['output { name: "y" reshape { shape: [ ] } }', /reshape: y cannot be .* the shape that the model gives/],
    ['name: "other"', /config\.pbtxt:1: name: is not the name of its folder, m/],
    ['input { name: "z" }', /:1: input: the model has no input z: it has x/],
    ['output { name: "y" data_type: TYPE_INT8 }', /output: y is of type FP32, not INT8/],
    [
      'max_batch_size: 8\ninput { name: "x" dims: [ 3 ] }',
      /config\.pbtxt:2: input: x has other dimensions than \[3\]: write dims: \[ 2 \]/,
    ],
    ['max_batch_size: 0\ninput { name: "x" dims: [ 3 ] }', /write dims: \[ -1, 2 \]/],
    ['sequence_batching { }', /sequences of requests are not supported/],
    ['platform: "ensemble"', /"ensemble" and ensemble_scheduling need each other/],
    ['output { name: "y" label_filename: "../secret" }', /must be in the model's folder/],
    ['output { name: "y" label_filename: "none.txt" }', /no such file of labels/],
  ])('is refused where it is of another model: %s', async (text, message) => {
    const dir = tempDir();
    const path = writeIn(dir, 'm/1/model.onnx', ONNX);
    writeIn(dir, 'm/config.pbtxt', text);
    expect((await failure(readModelFile(path))).message).toMatch(message);
  });

  it.each([
    'input { name: "x" dims: [ -1 ] }',
    'input { name: "x" dims: [ -1, 2 ] }',
    'input { name: "x" data_type: 11 dims: [ 2 ] } model_transaction_policy { decoupled: False }',
    'max_batch_size: 4 input { name: "x" dims: 2 } output { name: "y" dims: [ -1 ] }',
  ])('agrees with the model: %s', async (text) => {
    const dir = tempDir();
    const path = writeIn(dir, 'm/1/model.onnx', ONNX);
    writeIn(dir, 'm/config.pbtxt', text);
    expect((await readModelFile(path)).signature.batched).toBe(true);
  });

  it('is refused with max_batch_size where the first dimension has a size', async () => {
    const dir = tempDir();
    const path = writeIn(dir, 'm/1/model.onnx', identityModel(ELEMENT_TYPES.FP32, [1, 3]));
    writeIn(dir, 'm/config.pbtxt', 'name: "m"\nmax_batch_size: 8');
    expect((await failure(readModelFile(path))).message).toMatch(
      /config\.pbtxt:2: max_batch_size: the model takes no batches, because x has the shape \[1, 3\]: write 0/,
    );
    writeIn(dir, 'm/config.yaml', 'batch: none');
    expect((await readModelFile(path)).batchSizes).toEqual([1]);
  });

  it('is refused if it leaves out an input of the model', async () => {
    const dir = tempDir();
    const path = writeIn(dir, 'm/1/model.onnx', sumModel);
    writeIn(dir, 'm/config.pbtxt', 'input { name: "a" } output { name: "c" }');
    expect((await failure(readModelFile(path))).message).toMatch(
      /config\.pbtxt:1: input: the model has another input, b, that is not described/,
    );
    writeIn(dir, 'm/config.pbtxt', 'output { name: "c" }');
    expect((await readModelFile(path)).signature.inputs).toHaveLength(2);
  });
});

describe('where the file of a model is', () => {
  it.each([
    ['', '1/model.onnx'],
    ['', '1/model.onnx/model.onnx'],
    ['default_model_filename: "net.onnx"', '1/net.onnx'],
    ['default_model_filename: "net.onnx"', '1/net.onnx/model.onnx'],
  ])('%s %s', async (pbtxt, file) => {
    const dir = tempDir();
    const path = writeIn(dir, `m/${file}`, ONNX);
    writeIn(dir, 'm/config.pbtxt', `max_batch_size: 2 ${pbtxt}`);
    expect(scanRepository(dir, 'fp32').versions).toEqual([{ name: 'm', version: '1', onnxPath: path }]);
    expect(findVersion(dir, 'm', '1', 'fp32')).toBe(path);
    const model = await readModelFile(path);
    expect([model.name, model.version, model.batchSizes]).toEqual(['m', '1', [1, 2]]);
  });

  it('is a folder with its weights', async () => {
    const dir = tempDir();
    const path = writeIn(dir, 'm/1/model.onnx/model.onnx', scalingModel('weights'));
    expect((await failure(readModelFile(path))).code).toBe('E_MODEL_FILE');
    writeIn(dir, 'm/1/model.onnx/weights', new Uint8Array(Float32Array.of(3).buffer));
    expect((await readModelFile(path)).name).toBe('m');
    expect(await onnxFile(join(dir, 'm'), 'fp32', ON_DISK)).toBe(path);
    expect(repositoryName(path)).toBe('m');
  });

  it.each(['../1/model.onnx', 'a/model.onnx', '..', ''])('is in the folder of the version: %s', (file) => {
    const dir = tempDir();
    writeIn(dir, 'm/1/model.onnx', ONNX);
    writeIn(dir, 'm/config.pbtxt', `default_model_filename: "${file}"`);
    expect(scanRepository(dir, 'fp32').problems[0].error.message).toMatch(
      /default_model_filename: must be the name of a file/,
    );
  });

  it('is no folder whose number is written in another way', () => {
    const dir = tempDir();
    for (const version of ['1', '01', '9007199254740993']) writeIn(dir, `both/${version}/model.onnx`, ONNX);
    writeIn(dir, 'only/007/model.onnx', ONNX);
    const { problems, skipped } = scanRepository(dir, 'fp32');
    expect(found(dir)).toEqual(['both/1']);
    expect(problems.map(({ name, version }) => [name, version])).toEqual([
      ['both', '01'],
      ['both', '9007199254740993'],
      ['only', '007'],
    ]);
    expect(problems[0].error.message).toMatch(/both\/01: is not a version: .*without leading zeros/);
    expect(skipped).toEqual([]);
    expect(() => findVersion(dir, 'both', '01', 'fp32')).toThrow('there is no version "01"');
  });
});

describe('several repositories', () => {
  it('are one, in which a model that lies in two of them cannot be served', () => {
    const [one, two] = [tempDir(), tempDir()];
    writeIn(one, 'a/1/model.onnx', '');
    for (const dir of [one, two]) writeIn(dir, 'both/1/model.onnx', '');
    writeIn(two, 'b/2/model.onnx', '');
    const { versions, problems } = scanRepositories([one, two], 'fp32');
    expect(versions.map(({ name, version }) => `${name}/${version}`)).toEqual(['a/1', 'b/2']);
    const why = `${one}/both: is in more than one repository: keep one`;
    expect(problems.map(({ name, error }) => [name, error.message])).toEqual([['both', why]]);
    expect(['a', 'b', 'none'].map((name) => repositoryWith([one, two], name))).toEqual([one, two, one]);
    expect(() => repositoryWith([one, two], 'both')).toThrow(why);
  });
});
