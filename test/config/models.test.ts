import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ON_DISK } from '../../src/config/files-on-disk.js';
import { fitLatency } from '../../src/config/fit.js';
import { readProfile } from '../../src/config/read-profile.js';
import { ZOO_VARIETIES, zooModels } from '../../src/config/zoo.js';
import { checkModel } from '../../src/core/model.js';

const PAGE = 16 * 1024 * 1024;
const PROFILES = join(import.meta.dirname, '../../experiments/profiles');

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
