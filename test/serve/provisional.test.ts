import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { MIB, NS_PER_MS } from '../../src/base/units.js';
import type { Measure } from '../../src/serve/deployment-options.js';
import { prepareModel } from '../../src/serve/prepare-model.js';
import { CPU, ELEMENT_TYPES, identityModel, tempDir, writeIn } from '../live/models/fixtures.js';

it('a model is served after few runs with a margin, and measured again where that is asked for', async () => {
  const dir = tempDir();
  const onnxPath = writeIn(dir, 'm/1/model.onnx', identityModel(ELEMENT_TYPES.FP32, [4]));
  const profileOf = async (measure: Measure, budgetNs?: number) => {
    const options = { device: CPU, pageBytes: MIB, cacheDir: null, measure, budgetNs };
    const { spec, isProvisional } = await prepareModel(onnxPath, join(dir, 'm'), options, () => {});
    const profile = JSON.parse(readFileSync(join(dir, 'm/1/profile.cpu.json'), 'utf8'));
    const [{ medianMs, runs }] = profile.batches;
    return {
      runs,
      isProvisional,
      marked: profile.provisional,
      margin: spec.execNs[0] / (medianMs * NS_PER_MS),
    };
  };
  const first = await profileOf('none');
  expect(first).toMatchObject({ runs: 2, isProvisional: true, marked: true });
  expect(first.margin).toBeCloseTo(1.5, 2);
  expect(await profileOf('quick')).toEqual(first);
  const full = await profileOf('full', 1);
  expect(full).toMatchObject({ runs: 2, isProvisional: false, marked: undefined });
  expect(full.margin).toBeCloseTo(1, 2);
  expect(await profileOf('none')).toEqual(full);
});
