import { availableParallelism, totalmem } from 'node:os';
import { describe, expect, it } from 'vitest';
import { usableCores, usableMemoryBytes } from '../../../src/base/limits/usable.js';

const limited = (quota: string, memory: string) => (path: string) =>
  ({
    '/proc/self/cgroup': '0::/\n',
    '/proc/self/mountinfo': '30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n',
    '/sys/fs/cgroup/cpu.max': quota,
    '/sys/fs/cgroup/memory.max': memory,
  })[path] ?? null;

describe('what a process may use', () => {
  it.each([
    ['50000 100000', 1],
    ['199999 100000', 1],
    ['99900000 100000', availableParallelism()],
    ['max 100000', availableParallelism()],
  ])('is, at a quota of %j, %d cores', (quota, cores) => {
    expect(usableCores(limited(quota, 'max'))).toBe(cores);
  });

  it.each([
    ['4096', 4096],
    ['1152921504606846976', totalmem()],
    ['max', totalmem()],
  ])('is, at a limit of %s, %d bytes', (limit, bytes) => {
    expect(usableMemoryBytes(limited('max 100000', limit))).toBe(bytes);
  });
});
