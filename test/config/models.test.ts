import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ON_DISK } from '../../src/config/files-on-disk.js';
import { fitLatency, fitModel } from '../../src/config/fit.js';
import { readProfile } from '../../src/config/read-profile.js';
import { ZOO_VARIETIES, zooModels } from '../../src/config/zoo.js';
import { checkModel } from '../../src/core/model.js';
import { BASE, load } from './experiment-files.js';

const PAGE = 16 * 1024 * 1024;
const PROFILES = join(import.meta.dirname, '../../experiments/profiles');
const RESNET50 = join(PROFILES, 'resnet50_v2.v100.json');

const withModels = (models: string) => load(BASE.replace(/^models.*$/m, `models: ${models}`));

describe('models', () => {
  it('copies have their own names', async () => {
    const { models } = await withModels(`{ kind: profile, path: ${RESNET50}, copies: 3 }`);
    expect(models.map(({ name }) => name)).toEqual(['resnet50_v2-0', 'resnet50_v2-1', 'resnet50_v2-2']);
    expect(models[2]).toMatchObject({
      pages: 7,
      loadNs: 8_372_000,
      execNs: [3_322_000, 5_271_340, 7_495_000, 12_439_000, 21_728_879],
    });
  });

  it('sections follow one another', async () => {
    const { models } = await withModels(
      '[{ kind: fit, parameters: 25.6M, copies: 2 }, { kind: csv, path: models.csv }]',
    );
    expect(models.map(({ name }) => name)).toEqual(['fit-25.6M-0', 'fit-25.6M-1', '0', '1']);
  });

  it('4,026 instances of the zoo are one line of configuration', async () => {
    const { models } = await withModels('{ kind: zoo, varieties: 61, copies: 66 }');
    expect(models).toHaveLength(4026);
    expect(new Set(models.map(({ name }) => name)).size).toBe(4026);
    // Copy 0 of every variety comes first: popular functions drive different varieties.
    expect(models[0]!.name).toBe('resnet50-0');
    expect(models[61]!.name).toBe('resnet50-1');
  });
});

describe('the fit', () => {
  // Straight lines through Clockwork's measurements, ms; parameters; images/s on the RTX 3090.
  it.each([
    ['resnet18', 0.68, 1.034, 11.69, 9260.29],
    ['resnet50', 1.206, 2.575, 25.56, 3219.06],
    ['resnet152', 3.408, 7.454, 60.19, 1373.51],
  ])('comes close to the measured %s', (name, alpha, beta, millions, imagesPerS) => {
    const bySize = fitLatency({ name, parameters: millions * 1e6 });
    expect(Math.abs(bySize.alphaMs / alpha - 1)).toBeLessThan(0.2);
    expect(Math.abs(bySize.betaMs / beta - 1)).toBeLessThan(0.2);
    const byTime = fitLatency({ name, parameters: millions * 1e6, imagesPerS });
    expect(Math.abs(byTime.alphaMs / alpha - 1)).toBeLessThan(0.3);
    expect(Math.abs(byTime.betaMs / beta - 1)).toBeLessThan(0.3);
  });

  it('takes weights and load time from the parameters', () => {
    const model = fitModel({ name: 'm', parameters: 25.6e6 }, PAGE);
    expect(model).toMatchObject({ weightsBytes: 102_400_000, pages: 7, loadNs: 8_393_443 });
    expect(checkModel(model)).toBe(model);
  });
});

describe('the zoo', () => {
  it('has 61 varieties that a scheduler can use', () => {
    expect(ZOO_VARIETIES).toHaveLength(61);
    for (const model of zooModels(ZOO_VARIETIES.length, 1, PAGE)) checkModel(model);
  });
});

describe('bundled profiles', () => {
  it.each([
    ['resnet18_v2.v100.json', 3],
    ['resnet50_v2.v100.json', 7],
    ['resnet152_v2.v100.json', 15],
    ['resnet50_v2.clockwork-sim.v100.json', 7],
  ])('%s copies its weights over PCIe 3 x16', async (file, pages) => {
    const profile = await readProfile(join(PROFILES, file), ON_DISK);
    expect(Math.ceil(profile.weightsBytes / PAGE)).toBe(pages);
    expect(profile.weightsBytes / (profile.loadMs / 1000) / 1e9).toBeCloseTo(12.2, 0);
  });
});
