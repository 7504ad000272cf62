import { expect, it } from 'vitest';
import { GIB } from '../../../src/base/units.js';
import { find, LAPTOP, MAC, read } from './hosts.js';

it.each([
  ['cpu', 4 * GIB, 'ok', '4GiB for a cache of 4GiB'],
  ['cpu', 8 * GIB, 'failed', '4GiB for a cache of 8GiB'],
  ['webgpu', 4 * GIB, 'skipped', 'onnxruntime does not report it for webgpu'],
] as const)('on %s a cache of %d bytes is %s', (device, cacheBytes, status, found) => {
  expect(find(read(LAPTOP, { device, cacheBytes }), 'memory.device')).toMatchObject({ status, found });
});

it('is skipped where the system does not tell', () => {
  expect(find(read(MAC), 'memory.device').status).toBe('skipped');
});
