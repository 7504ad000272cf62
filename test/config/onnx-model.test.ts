import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, test } from 'vitest';
import type { Experiment } from '../../src/config/experiment.js';
import { ON_DISK } from '../../src/config/files-on-disk.js';
import { parseExperiment } from '../../src/config/load.js';
import { onnxFile, profileFileName, settingFlags } from '../../src/config/onnx-model.js';
import { DEFAULT_SESSION, type OrtDeviceSpec, type SessionSettings } from '../../src/live/device.js';
import { madeUpProfile } from '../made-up-profile.js';
import { expected, rowsOf } from '../rows.js';
import { rejection } from './failure.js';

const PROFILE = madeUpProfile({
  ...{ name: 'resnet18', weightsBytes: 46_700_000, loadMs: 2, loadP99Ms: 3 },
  ...{ inputBytes: 602_112, outputBytes: 4000 },
  batches: [
    { batch: 1, minMs: 18, medianMs: 20, p99Ms: 22, maxMs: 40 },
    { batch: 2, medianMs: 36 },
    { batch: 4, medianMs: 70 },
  ],
});

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'escapement-'));
  for (const version of ['1', '2', '10']) mkdirSync(join(dir, 'resnet18', version), { recursive: true });
  writeFileSync(join(dir, 'resnet18', '10', 'profile.cpu.json'), JSON.stringify(PROFILE));
});

function load(models: string, overrides: readonly string[] = []): Promise<Experiment> {
  const text = `models: ${models}\nworkload: { kind: poisson, rate: 20/s, duration: 5s }\n`;
  return parseExperiment(text, join(dir, 'exp.yaml'), overrides);
}

/** The section of a model, the code and the message. */
const MISTAKES = String.raw`
{ kind: onnx, path: other/3/model.onnx } | E_FILE_MISSING | /exp\.yaml:1: models\.path: \S+other\/3\/profile\.cpu\.json: no such file: measure the model first, with: escapement profile measure \S+other\/3\/model\.onnx --device cpu$/
{ kind: onnx, path: resnet18, profile: gone.json } | E_FILE_MISSING | /exp\.yaml:1: models\.profile: \S+gone\.json: no such file; a relative path begins at the folder of the experiment file$/
{ kind: onnx, path: resnet18, batchSizes: [1, 8] } | E_CONFIG_VALUE | /exp\.yaml:1: models\.batchSizes: batch size 8 was not measured; there are 1, 2, 4$/
{ kind: onnx, path: resnet18, batchSizes: [2] } | E_CONFIG_VALUE | /exp\.yaml:1: models\.batchSizes: must contain 1$/
`;

describe('a model of kind onnx', () => {
  it('is found by its folder in a repository, at its highest version, or by its file', async () => {
    const file = join(dir, 'resnet18', '10', 'model.onnx');
    const byFolder = await load('{ kind: onnx, path: resnet18 }');
    const byFile = await load('{ kind: onnx, path: resnet18/10/model.onnx }');
    expect([byFolder.modelFiles, byFile.modelFiles]).toEqual([[file], [file]]);
    expect(byFile.models).toEqual(byFolder.models);
    expect(byFolder.models).toMatchObject([{ name: 'resnet18', pages: 3, batchSizes: [1, 2, 4] }]);
    expect(await onnxFile(join(dir, 'not-made-yet'), 'fp32', ON_DISK)).toBe(
      join(dir, 'not-made-yet', '1', 'model.onnx'),
    );
  });

  it('is the FP16 file next to it at that precision, with a profile of its own', async () => {
    const folder = join(dir, 'resnet18', '10', 'fp16');
    const file = join(folder, 'model.onnx');
    const half = (path: string) => load(`{ kind: onnx, path: ${path} }`, ['runtime.precision=fp16']);
    const missing = await rejection(half('resnet18'));
    expect(missing.code).toBe('E_FILE_MISSING');
    expect(missing.message).toMatch(
      /fp16\/profile\.cpu\.json: no such file: .*: escapement profile measure \S+\/10\/fp16\/model\.onnx --device cpu$/,
    );
    mkdirSync(folder);
    writeFileSync(join(folder, 'profile.cpu.json'), JSON.stringify({ ...PROFILE, loadMs: 1 }));
    for (const path of ['resnet18', 'resnet18/10/model.onnx', 'resnet18/10/fp16/model.onnx']) {
      const { models, modelFiles } = await half(path);
      expect([models[0]?.loadNs, modelFiles]).toEqual([1e6, [file]]);
    }
  });

  it('takes the profile of the device that it would run on, or the one that is named', async () => {
    const named = join(dir, 'slow.json');
    writeFileSync(named, JSON.stringify({ ...PROFILE, loadMs: 2.5 }));
    const at = async (keys: string, overrides: readonly string[] = []) =>
      (await load(`{ kind: onnx, path: resnet18${keys} }`, overrides)).models[0]?.loadNs;
    expect(await at(', profile: slow.json')).toBe(2.5e6);
    expect(await at('', ['live.device=simulated'])).toBe(2e6);
    writeFileSync(
      join(dir, 'resnet18', '10', 'profile.webgpu.json'),
      JSON.stringify({ ...PROFILE, loadMs: 1 }),
    );
    expect(await at('', ['live.device=webgpu'])).toBe(1e6);
  });

  it.each(rowsOf(MISTAKES))('is refused as %s', async (models = '', code, message = '') => {
    const error = await rejection(load(models));
    expect([error.code, error.message]).toEqual([code, expected(message)]);
  });
});

describe('noise of the distribution that was measured', () => {
  it('needs a model that was measured so', async () => {
    const error = await rejection(
      load('{ kind: fit, parameters: 1M }', ['cluster.noise.distribution=profile']),
    );
    expect(error.message).toMatch(
      /^--set cluster\.noise\.distribution=profile: no model of this run has a profile/,
    );
  });
});

const CPU: OrtDeviceSpec = { kind: 'cpu', adapter: 0, session: DEFAULT_SESSION };
const named = (session: Partial<SessionSettings>, device: Partial<OrtDeviceSpec> = {}) =>
  profileFileName({ ...CPU, ...device, session: { ...DEFAULT_SESSION, ...session } });

it.each([
  ['profile.cpu.json', {}, {}],
  ['profile.cpu-4.json', { intraOpThreads: 4 }, {}],
  ['profile.cpu-2-inter3.json', { intraOpThreads: 2, interOpThreads: 3 }, {}],
  ['profile.cpu-noarena-nopattern.json', { arena: false, memoryPattern: false }, {}],
  ['profile.webgpu.json', { intraOpThreads: 4 }, { kind: 'webgpu' }],
  ['profile.webgpu-lazyRelease.json', { storageBufferCache: 'lazyRelease' }, { kind: 'webgpu' }],
  ['profile.cuda-1.json', { arena: false, storageBufferCache: 'simple' }, { kind: 'cuda', adapter: 1 }],
  ['profile.cuda-nopattern.json', { memoryPattern: false }, { kind: 'cuda' }],
] as const)('%s is the profile of these settings only', (name, session, device) => {
  expect(named(session, device)).toBe(name);
});

test('the command that measures names what is not the default', () => {
  expect(settingFlags(DEFAULT_SESSION)).toBe('');
  expect(settingFlags({ ...DEFAULT_SESSION, intraOpThreads: 2, arena: false })).toBe(
    " --set 'runtime.intraOpThreads=2' --set 'runtime.arena=false'",
  );
});
