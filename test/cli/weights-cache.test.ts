import { totalmem } from 'node:os';
import { describe, expect, it } from 'vitest';
import { GIB } from '../../src/base/units.js';
import { weightsCacheBytes } from '../../src/cli/weights-cache.js';
import { DEFAULT_SESSION, type DeviceSpec, type Provider } from '../../src/live/device.js';
import type { deviceMemory } from '../../src/live/ort/device-memory.js';

const gpus = (kind: Provider, count = 1): DeviceSpec[] =>
  Array.from({ length: count }, (_, adapter) => ({ kind, adapter, session: DEFAULT_SESSION }));

/** Two GPUs, of 16 and 12 GiB. */
const twoGpus: typeof deviceMemory = async ({ adapter }) => ({
  usedBytes: 0,
  totalBytes: adapter === 0 ? 16 * GIB : 12 * GIB,
});
const noGpus: typeof deviceMemory = async () => null;

describe('the weights cache', () => {
  it('leaves the reserved share of the memory free', async () => {
    expect(await weightsCacheBytes(gpus('cuda', 2), null, 0.5, twoGpus)).toBe(6 * GIB);
    expect(await weightsCacheBytes(gpus('cuda', 2), null, 0.75, twoGpus)).toBe(3 * GIB);
    expect(await weightsCacheBytes(gpus('cuda', 2), null, 0.1, twoGpus)).toBe(8 * GIB);
    expect(await weightsCacheBytes(gpus('cuda'), null, 0.75, twoGpus)).toBe(4 * GIB);
    expect(await weightsCacheBytes(gpus('cpu'), null, 0.99)).toBe(Math.floor(totalmem() * (1 - 0.99)));
  });

  it('shares the memory of the machine among its CPU devices', async () => {
    expect(await weightsCacheBytes(gpus('cpu', 64), null, 0.5)).toBe(Math.floor((totalmem() / 64) * 0.5));
  });

  it('goes by what its container may have, where that is less than the machine has', async () => {
    expect(await weightsCacheBytes(gpus('cpu', 2), null, 0.5, noGpus, GIB)).toBe(GIB / 4);
  });

  it('may be as large as the reserve allows, and no larger', async () => {
    expect(await weightsCacheBytes(gpus('cuda', 2), 6 * GIB, 0.5, twoGpus)).toBe(6 * GIB);
    await expect(weightsCacheBytes(gpus('cuda', 2), 6 * GIB + 1, 0.5, twoGpus)).rejects.toMatchObject({
      code: 'E_USAGE',
      message: expect.stringMatching(
        /^--memory 6GiB: .*12GiB.* runtime\.memoryReserve keeps 50% free; use at most 6GiB, or a smaller reserve$/,
      ),
    });
    await expect(weightsCacheBytes(gpus('cpu'), 2 * totalmem(), 0)).rejects.toMatchObject({
      code: 'E_USAGE',
    });
  });

  it('has a usual size where the amount of memory is unknown', async () => {
    expect(await weightsCacheBytes(gpus('cuda'), null, 0.5, noGpus)).toBe(8 * GIB);
    expect(await weightsCacheBytes(gpus('webgpu'), 1000 * GIB, 0.5)).toBe(1000 * GIB);
    const simulated: DeviceSpec[] = [{ kind: 'simulated', timeScale: 1 }];
    expect(await weightsCacheBytes(simulated, null, 0.99)).toBe(8 * GIB);
  });
});
