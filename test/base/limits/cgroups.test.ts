import { describe, expect, it } from 'vitest';
import { type ReadText, readCgroupLimits } from '../../../src/base/limits/cgroups.js';

/** A machine that has these files and no others. */
const machine =
  (files: Readonly<Record<string, string>>): ReadText =>
  (path) =>
    files[path] ?? null;

const V2_MOUNT = '30 23 0:26 / /sys/fs/cgroup ro,nosuid shared:9 - cgroup2 cgroup rw,nsdelegate\n';
/** Docker on a machine of version 1: each controller mounted on its own, from the container's folder on. */
const V1_MOUNTS = `31 30 0:28 /docker/4f2a /sys/fs/cgroup/cpu,cpuacct ro master:12 - cgroup cgroup rw,cpu,cpuacct
32 30 0:29 /docker/4f2a /sys/fs/cgroup/memory ro master:13 - cgroup cgroup rw,memory
33 30 0:30 /docker/4f2a /sys/fs/cgroup/cpuset ro master:14 - cgroup cgroup rw,cpuset
`;
const V1_GROUPS = '12:cpuset:/docker/4f2a\n4:memory:/docker/4f2a\n3:cpu,cpuacct:/docker/4f2a\n';

describe('limits of control groups', () => {
  it('are those of a container that sees itself as the root, in version 2', () => {
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

  it('are those of a container whose folder is mounted, in version 1', () => {
    const limits = readCgroupLimits(
      machine({
        '/proc/self/cgroup': V1_GROUPS,
        '/proc/self/mountinfo': V1_MOUNTS,
        '/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '50000\n',
        '/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us': '100000\n',
        '/sys/fs/cgroup/memory/memory.limit_in_bytes': '536870912\n',
      }),
    );
    expect(limits.cpus?.value).toBe(0.5);
    expect(limits.memoryBytes?.value).toBe(536_870_912);
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

  it('come from version 1 for the controllers that a machine with both versions has there', () => {
    const limits = readCgroupLimits(
      machine({
        '/proc/self/cgroup': '4:memory:/user\n1:name=systemd:/user\n0::/user\n',
        '/proc/self/mountinfo': `${V2_MOUNT.replace('/sys/fs/cgroup', '/sys/fs/cgroup/unified')}35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n`,
        '/sys/fs/cgroup/memory/user/memory.limit_in_bytes': '4096\n',
        '/sys/fs/cgroup/unified/user/memory.max': '1024\n',
        '/sys/fs/cgroup/unified/user/cpu.max': '100000 100000\n',
      }),
    );
    expect(limits.memoryBytes).toEqual({
      value: 4096,
      file: '/sys/fs/cgroup/memory/user/memory.limit_in_bytes',
    });
    expect(limits.cpus?.value).toBe(1);
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
      'that sets none, in version 2',
      {
        '/proc/self/cgroup': '0::/\n',
        '/proc/self/mountinfo': V2_MOUNT,
        '/sys/fs/cgroup/cpu.max': 'max 100000\n',
        '/sys/fs/cgroup/memory.max': 'max\n',
      },
    ],
    [
      'that sets none, in version 1',
      {
        '/proc/self/cgroup': V1_GROUPS,
        '/proc/self/mountinfo': V1_MOUNTS,
        '/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '-1\n',
        '/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us': '100000\n',
        '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
      },
    ],
  ])('are none on a machine %s', (_, files) => {
    expect(readCgroupLimits(machine(files))).toEqual({ cpus: null, memoryBytes: null });
  });
});
