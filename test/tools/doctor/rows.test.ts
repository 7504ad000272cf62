import { expect, it } from 'vitest';
import { GIB } from '../../../src/base/units.js';
import type { Provider } from '../../../src/live/device.js';
import type { Role } from '../../../src/tools/doctor/check.js';
import { CONTAINER, find, LAPTOP, limitsText, MAC, type Recorded, read, SERVER, statuses } from './hosts.js';

const CPU = '/sys/devices/system/cpu';

/** A container of version 2 that may run on cores 0 to 7 and 12. */
const limited = (quota: string, memory: string): Recorded => ({
  files: {
    '/proc/self/cgroup': '0::/\n',
    '/proc/self/mountinfo': '30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n',
    '/proc/self/status': 'Name:\tnode\nCpus_allowed:\t10ff\nCpus_allowed_list:\t0-7,12\n',
    '/sys/fs/cgroup/cpu.max': quota,
    '/sys/fs/cgroup/memory.max': memory,
  },
});

const governors = (...names: string[]): Recorded => ({
  files: Object.fromEntries(names.map((name, i) => [`${CPU}/cpu${i}/cpufreq/scaling_governor`, `${name}\n`])),
});

it.each([
  ['a server', SERVER, 'ok', 'ok'],
  ['a laptop', LAPTOP, 'failed', 'failed'],
  ['a container', CONTAINER, 'failed', 'skipped'],
  ['a Mac, which has no /proc', MAC, 'skipped', 'skipped'],
])('judges limits and cores of %s', (_, host, limits, cores) => {
  expect(statuses(read(host))).toMatchObject({
    'limits.open-files': limits,
    'limits.memory-maps': limits,
    'cpu.governor': cores,
    'cpu.huge-pages': cores,
    'cpu.smt': cores,
    'environment.allocator': cores,
  });
});

it.each<[string, string, Recorded, string]>([
  ['limits.open-files', 'failed', { files: { '/proc/self/limits': limitsText('65534') } }, '65,534'],
  ['limits.open-files', 'ok', { files: { '/proc/self/limits': limitsText('unlimited') } }, 'unlimited'],
  [
    'limits.cpu-quota',
    'failed',
    limited('250000 100000', 'max'),
    '2.5 of 9 cores (/sys/fs/cgroup/cpu.max); escapement plans for 2',
  ],
  [
    'limits.cpu-quota',
    'ok',
    limited('900000 100000', 'max'),
    '9 of 9 cores (/sys/fs/cgroup/cpu.max); escapement plans for 9',
  ],
  ['limits.cpu-quota', 'ok', LAPTOP, 'none'],
  ['limits.memory', 'failed', limited('max 100000', String(GIB)), '1GiB (/sys/fs/cgroup/memory.max)'],
  ['limits.memory', 'skipped', MAC, 'unknown on darwin'],
  [
    'cpu.governor',
    'failed',
    governors('performance', 'schedutil', 'schedutil'),
    'performance ×1, schedutil ×2',
  ],
  [
    'cpu.governor',
    'skipped',
    { files: { [`${CPU}/cpu0/online`]: '1' } },
    'no governor, as usual in virtual machines',
  ],
  ['cpu.smt', 'ok', { files: { [`${CPU}/smt/control`]: 'forceoff\n' } }, 'forceoff'],
  ['runtime.node', 'failed', { nodeVersion: '20.18.3' }, '20.18.3'],
  ['runtime.node', 'ok', { nodeVersion: '20.19.0' }, '20.19.0'],
  ['environment.allocator', 'failed', {}, 'glibc'],
  ['environment.allocator', 'ok', { env: { LD_PRELOAD: '/usr/lib/libjemalloc.so.2' } }, 'jemalloc'],
  ['memory.device', 'skipped', MAC, 'unknown on darwin'],
])('%s is %s', (id, status, host, found) => {
  expect(find(read(host), id)).toMatchObject({ status, found });
});

it.each<[Provider, number, string, string]>([
  ['cpu', 4 * GIB, 'ok', '4GiB for a cache of 4GiB'],
  ['cpu', 8 * GIB, 'failed', '4GiB for a cache of 8GiB'],
  ['webgpu', 4 * GIB, 'skipped', 'onnxruntime does not report it for webgpu'],
])('memory for a cache on %s of %d bytes is %s', (device, cacheBytes, status, found) => {
  expect(find(read(LAPTOP, { device, cacheBytes }), 'memory.device')).toMatchObject({ status, found });
});

it('requires room for the cache of a worker alone', () => {
  const status = (role: Role) =>
    find(read(limited('max 100000', String(GIB)), { role }), 'limits.memory').status;
  expect([status('worker'), status('controller')]).toEqual(['failed', 'ok']);
});
