import { describe, expect, it } from 'vitest';
import { type ReadText, readCgroupLimits } from '../../../src/base/limits/cgroups.js';

/** A machine that has these files and no others. */
const machine =
  (files: Readonly<Record<string, string>>): ReadText =>
  (path) =>
    files[path] ?? null;

const V2_MOUNT = '30 23 0:26 / /sys/fs/cgroup ro,nosuid shared:9 - cgroup2 cgroup rw,nsdelegate\n';

describe('limits of control groups', () => {
  it('are those of a container that sees itself as the root', () => {
    const limits = readCgroupLimits(
      machine({
        '/proc/self/cgroup': '0::/\n',
        '/proc/self/mountinfo': V2_MOUNT,
        '/sys/fs/cgroup/cpu.max': '250000 100000\n',
        '/sys/fs/cgroup/memory.max': '1073741824\n',
        '/sys/fs/cgroup/memory.high': 'max\n',
      }),
    );
    expect(limits).toEqual({
      cpus: { value: 2.5, file: '/sys/fs/cgroup/cpu.max' },
      memoryBytes: { value: 1_073_741_824, file: '/sys/fs/cgroup/memory.max' },
    });
  });

  it('count where a group around it sets them: of a pod, of a service of systemd', () => {
    const limits = readCgroupLimits(
      machine({
        '/proc/self/cgroup': '0::/kubepods.slice/pod7/main\n',
        '/proc/self/mountinfo': V2_MOUNT,
        '/sys/fs/cgroup/kubepods.slice/pod7/main/cpu.max': 'max 100000\n',
        '/sys/fs/cgroup/kubepods.slice/pod7/cpu.max': '400000 100000\n',
        '/sys/fs/cgroup/kubepods.slice/cpu.max': '3000000 100000\n',
        '/sys/fs/cgroup/kubepods.slice/pod7/main/memory.max': '800\n',
        '/sys/fs/cgroup/kubepods.slice/pod7/main/memory.high': '700\n',
        '/sys/fs/cgroup/kubepods.slice/pod7/memory.max': '900\n',
      }),
    );
    expect(limits).toEqual({
      cpus: { value: 4, file: '/sys/fs/cgroup/kubepods.slice/pod7/cpu.max' },
      memoryBytes: { value: 700, file: '/sys/fs/cgroup/kubepods.slice/pod7/main/memory.high' },
    });
  });

  it('are looked for at the mount where a process is in a group that cannot be seen', () => {
    for (const path of ['/../../other', '/elsewhere']) {
      const limits = readCgroupLimits(
        machine({
          '/proc/self/cgroup': `0::${path}\n`,
          '/proc/self/mountinfo': V2_MOUNT.replace(' / ', ' /mine '),
          '/sys/fs/cgroup/memory.max': '2048\n',
        }),
      );
      expect(limits.memoryBytes?.value).toBe(2048);
    }
  });

  it.each<[string, Record<string, string>]>([
    ['without /proc', {}],
    ['without a mount', { '/proc/self/cgroup': '0::/\n', '/proc/self/mountinfo': '' }],
    [
      'that sets none',
      {
        '/proc/self/cgroup': '0::/\n',
        '/proc/self/mountinfo': V2_MOUNT,
        '/sys/fs/cgroup/cpu.max': 'max 100000\n',
        '/sys/fs/cgroup/memory.max': 'max\n',
      },
    ],
  ])('are none on a machine %s', (_, files) => {
    expect(readCgroupLimits(machine(files))).toEqual({ cpus: null, memoryBytes: null });
  });
});
