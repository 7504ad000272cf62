import { expect, it } from 'vitest';
import { DISK_FILES } from '../../src/base/files/disk-files.js';
import { openWorkload } from '../../src/workload/open.js';
import type { WorkloadSpec } from '../../src/workload/spec.js';

const CONTEXT = { models: ['a'], sloNs: 1e6, seed: 1, files: DISK_FILES };
const REST = { durationNs: 1e9, popularity: { kind: 'uniform' } };

it.each([
  [{ kind: 'poisson' }, 'rateRps'],
  [{ kind: 'fixed', rateRps: Number.NaN }, 'rateRps'],
  [{ kind: 'gamma', cv: 1, ratePerS: 5 }, 'rateRps'],
  [{ kind: 'on-off', onNs: 1e6, offNs: 1e6, onRateRps: 5 }, 'offRateRps'],
  [{ kind: 'ramp', toRateRps: -1, fromRateRps: 1 }, 'toRateRps'],
])('a program that passes %j is not answered with a run without traffic', async (spec, key) => {
  const wrong = { ...REST, ...spec } as unknown as WorkloadSpec;
  await expect(openWorkload(wrong, CONTEXT, 'workload.0')).rejects.toMatchObject({
    code: 'E_CONFIG_VALUE',
    message: expect.stringContaining(`workload.0.${key}: must be a number of requests per second`),
  });
});

it('a rate of 0 is one, as the quiet half of on-off', async () => {
  const spec = { ...REST, kind: 'on-off', onNs: 1e6, offNs: 1e6, onRateRps: 1e4, offRateRps: 0 };
  const { source } = await openWorkload(spec as unknown as WorkloadSpec, CONTEXT);
  expect(source.timeNs).toBeLessThan(1e9);
});
