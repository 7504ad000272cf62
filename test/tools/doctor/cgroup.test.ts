import { describe, expect, it } from 'vitest';
import { GIB } from '../../../src/base/units.js';
import type { Role } from '../../../src/tools/doctor/check.js';
import { find, LAPTOP, MAC, type Recorded, read, statuses } from './hosts.js';

/** A container of version 2 that may run on cores 0 to 7 and 12. */
const container = (quota: string, memory: string): Recorded => ({
  files: {
    '/proc/self/cgroup': '0::/\n',
    '/proc/self/mountinfo': '30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n',
    '/proc/self/status': 'Name:\tnode\nCpus_allowed:\t10ff\nCpus_allowed_list:\t0-7,12\n',
    '/sys/fs/cgroup/cpu.max': quota,
    '/sys/fs/cgroup/memory.max': memory,
  },
});

describe('the limits of a container', () => {
  it('are named with the file that sets them and with what follows', () => {
    const checks = read(container('250000 100000', String(4 * GIB)));
    expect(find(checks, 'limits.cpu-quota')).toMatchObject({
      status: 'failed',
      requiredFor: [],
      found: '2.5 of 9 cores (/sys/fs/cgroup/cpu.max); escapement plans for 2',
      fix: { note: expect.stringMatching(/^leave out the CPU limit, or give the process cores of its own/) },
    });
    expect(find(checks, 'limits.memory')).toMatchObject({
      status: 'ok',
      found: '4GiB (/sys/fs/cgroup/memory.max)',
      wanted: 'none, or more than 1GiB',
    });
  });

  it('do no harm where a quota is as large as the set of cores', () => {
    const check = find(read(container('900000 100000', 'max')), 'limits.cpu-quota');
    expect(check).toMatchObject({ status: 'ok', fix: null });
  });

  it.each([
    [GIB, 'failed'],
    [GIB - 1, 'ok'],
  ])('must leave room for a cache of %j bytes', (cacheBytes, status) => {
    const found = (role: Role) =>
      find(read(container('max 100000', String(GIB)), { role, cacheBytes }), 'limits.memory');
    expect(found('worker').status).toBe(status);
    expect(found('controller').status).toBe('ok');
  });

  it('are none where nothing sets them, and unknown where there are no control groups', () => {
    const limits = ['limits.cpu-quota', 'limits.memory'];
    expect(limits.map((id) => find(read(LAPTOP), id).found)).toEqual(['none', 'none']);
    expect(statuses(read(MAC), 'limits.')).toMatchObject({
      'limits.cpu-quota': 'skipped',
      'limits.memory': 'skipped',
    });
  });
});
