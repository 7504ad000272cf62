import { readCgroupLimits } from '../../base/limits/cgroups.js';
import { formatBytes } from '../../config/units-text.js';
import { formatCount, significant } from '../../text/numbers.js';
import { advise, asRoot, asUser, type Fix, ROLES, type Row, untilReboot } from './check.js';
import { type Host, hasSystemd, isContainer, type Machine } from './host.js';

const OPEN_FILES = 65_535;
const MAP_COUNT = 10_000_000;
const MAP_COUNT_FILE = '/proc/sys/vm/max_map_count';
const CPUS = '/sys/devices/system/cpu';
const GOVERNOR = 'cpufreq/scaling_governor';
const SMT = `${CPUS}/smt/control`;
const HUGE_PAGES = '/sys/kernel/mm/transparent_hugepage/enabled';
/** Loads jemalloc, and has it return free memory within a second. */
const JEMALLOC =
  'LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0';
/** Oldest release on which escapement is tested. */
const NODE_WANTED = [20, 19] as const;

/** Checks of any machine, by reading alone. */
export const MACHINE: readonly Row<Machine>[] = [
  {
    id: 'limits.open-files',
    title: 'Open files',
    requiredFor: ROLES,
    wanted: `at least ${formatCount(OPEN_FILES)}`,
    why: 'Each connection of a client or worker takes one; at the limit, new connections are refused.',
    read: ({ host }) => {
      const soft = /^Max open files +(\d+|unlimited)/m.exec(host.read('/proc/self/limits') ?? '')?.[1];
      if (soft === undefined) return `cannot be read on ${host.platform}`;
      const [limit, found] =
        soft === 'unlimited' ? [Infinity, soft] : [Number(soft), formatCount(Number(soft))];
      return { ok: limit >= OPEN_FILES, found, fix: openFilesFix(host) };
    },
  },
  {
    id: 'limits.memory-maps',
    title: 'Memory maps (vm.max_map_count)',
    requiredFor: ['worker'],
    wanted: `at least ${formatCount(MAP_COUNT)}`,
    why: 'Each large tensor of a loaded model takes one map; at the limit, allocations fail although memory is free.',
    read: ({ host }) => {
      const text = host.read(MAP_COUNT_FILE)?.trim() ?? '';
      if (text === '') return `${MAP_COUNT_FILE} cannot be read`;
      const setting = `vm.max_map_count=${MAP_COUNT}`;
      const fix = asRoot([`sysctl -w ${setting}`, `echo ${setting} > /etc/sysctl.d/90-escapement.conf`]);
      return { ok: Number(text) >= MAP_COUNT, found: formatCount(Number(text)), fix };
    },
  },
  {
    id: 'limits.cpu-quota',
    title: 'CPU limit',
    requiredFor: [],
    wanted: 'none, or at least the cores that the process may run on',
    why: 'The kernel stops all threads of a process that has used up its quota, up to 100 ms, in the middle of an INFER.',
    read: ({ host }) => {
      if (host.platform !== 'linux') return `unknown on ${host.platform}`;
      const limit = readCgroupLimits((path) => host.read(path)).cpus;
      if (limit === null) return { ok: true, found: 'none' };
      const cores = allowedCores(host);
      const threads = Math.max(1, Math.floor(limit.value));
      return {
        ok: limit.value >= cores,
        found: `${significant(limit.value, 3)} of ${cores} cores (${limit.file}); escapement plans for ${threads}`,
        fix: advise(
          'leave out the CPU limit, or give the process cores of its own: --cpuset-cpus in Docker; in Kubernetes the static CPU manager, with equal requests and limits in whole cores',
        ),
      };
    },
  },
  {
    id: 'limits.memory',
    title: 'Memory limit',
    requiredFor: ['worker'],
    wanted: (machine) =>
      holdsCache(machine) ? `none, or more than ${formatBytes(machine.cacheBytes)}` : 'any',
    why: 'The kernel kills a process that grows beyond its limit; a weights cache in host memory counts.',
    read: (machine) => {
      const { host, cacheBytes } = machine;
      if (host.platform !== 'linux') return `unknown on ${host.platform}`;
      const limit = readCgroupLimits((path) => host.read(path)).memoryBytes;
      if (limit === null) return { ok: true, found: 'none' };
      return {
        ok: !holdsCache(machine) || limit.value > cacheBytes,
        found: `${formatBytes(limit.value)} (${limit.file})`,
        fix: advise('raise the memory limit, or choose a smaller cache with --memory'),
      };
    },
  },
  {
    id: 'cpu.governor',
    title: 'Frequency governor',
    requiredFor: ['worker'],
    wanted: 'performance on every core',
    why: 'A core that slows down while idle runs the next INFER slower than its profile says.',
    read: ({ host }) => {
      const governors = host
        .list(CPUS)
        .filter((name) => /^cpu\d+$/.test(name))
        .flatMap((cpu) => host.read(`${CPUS}/${cpu}/${GOVERNOR}`)?.trim() ?? []);
      if (governors.length === 0) return absent(host, 'no governor, as usual in virtual machines');
      const names = [...new Set(governors)];
      return {
        ok: names.every((name) => name === 'performance'),
        found: names.map((name) => `${name} ×${governors.filter((n) => n === name).length}`).join(', '),
        fix: sysfs(host, 'governor', `${CPUS}/cpu*/${GOVERNOR}`, 'performance'),
      };
    },
  },
  {
    id: 'cpu.huge-pages',
    title: 'Transparent huge pages',
    requiredFor: ['worker'],
    wanted: 'madvise or never',
    why: 'With always, the kernel stops threads for milliseconds to find and clear 2 MiB pages.',
    read: ({ host }) => {
      const setting = /\[(\w+)\]/.exec(host.read(HUGE_PAGES) ?? '')?.[1];
      if (setting === undefined) return absent(host, 'this kernel has none');
      const fix = sysfs(host, 'huge-pages', HUGE_PAGES, 'madvise');
      return { ok: setting !== 'always', found: setting, fix };
    },
  },
  {
    id: 'cpu.smt',
    title: 'Simultaneous multithreading (SMT)',
    requiredFor: [],
    wanted: 'off',
    why: 'Two threads on one core slow each other down, by an amount that varies.',
    read: ({ host }) => {
      const control = host.read(SMT)?.trim() ?? 'notimplemented';
      if (control === 'notimplemented') return absent(host, 'the kernel does not report it');
      return { ok: control !== 'on', found: control, fix: sysfs(host, 'smt', SMT, 'off') };
    },
  },
  {
    id: 'runtime.node',
    title: 'Node',
    requiredFor: ROLES,
    wanted: `${NODE_WANTED.join('.')} or newer`,
    why: 'Escapement is not tested on older versions.',
    read: ({ host }) => {
      const [major = 0, minor = 0] = host.nodeVersion.split('.').map(Number);
      return {
        ok: major > NODE_WANTED[0] || (major === NODE_WANTED[0] && minor >= NODE_WANTED[1]),
        found: host.nodeVersion,
        fix: advise('install a newer version from https://nodejs.org'),
      };
    },
  },
];

/** Further checks of a worker, by reading alone. */
export const WORKER: readonly Row<Machine>[] = [
  {
    id: 'environment.allocator',
    title: 'Allocator returns memory',
    requiredFor: ['worker'],
    wanted: 'jemalloc, tcmalloc or mimalloc in LD_PRELOAD',
    why: 'glibc may keep hundreds of MB of what large requests took, long after they are answered.',
    read: ({ host }) => {
      if (!host.isGlibc) return 'concerns glibc, which this system does not use';
      const preloaded = /jemalloc|tcmalloc|mimalloc/.exec(host.env.LD_PRELOAD ?? '')?.[0];
      return {
        ok: preloaded !== undefined,
        found: preloaded ?? 'glibc',
        fix: asUser(`export ${JEMALLOC}`, "Debian's package libjemalloc2"),
      };
    },
  },
  {
    id: 'memory.device',
    title: 'Free memory for the weights cache',
    requiredFor: ['worker'],
    wanted: ({ cacheBytes }) => `at least ${formatBytes(cacheBytes)}`,
    why: 'The scheduler relies on the whole cache; a LOAD without memory fails, or swaps for seconds.',
    read: ({ host, device, cacheBytes }) => {
      if (device === 'cuda') return 'see the GPUs';
      if (device !== 'cpu') return `onnxruntime does not report it for ${device}`;
      const { availableBytes, platform } = host;
      if (availableBytes === null) return `unknown on ${platform}`;
      return {
        ok: availableBytes >= cacheBytes,
        found: `${formatBytes(availableBytes)} for a cache of ${formatBytes(cacheBytes)}`,
        fix: advise('stop other programs that use memory, or choose a smaller cache with --memory'),
      };
    },
  },
];

function openFilesFix(host: Host): Fix {
  if (isContainer(host)) return advise(`start the container with --ulimit nofile=${OPEN_FILES}`);
  // Logins read limits.conf, systemd units do not; its `*` excludes root.
  const lines = `'* - nofile ${OPEN_FILES}' 'root - nofile ${OPEN_FILES}'`;
  return asRoot(
    [`printf '%s\\n' ${lines} > /etc/security/limits.d/escapement-nofile.conf`],
    `takes effect at the next login; in this shell at once: sudo prlimit --pid $$ --nofile=${OPEN_FILES}:${OPEN_FILES}; in a systemd unit: LimitNOFILE=${OPEN_FILES}`,
  );
}

/** True if the weights cache is in the memory of the process. */
function holdsCache({ role, device }: Machine): boolean {
  return role === 'worker' && device === 'cpu';
}

/** Number of processors that the kernel allows the process, from "0-3,8". */
function allowedCores(host: Host): number {
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(host.read('/proc/self/status') ?? '')?.[1] ?? '';
  return list.split(',').reduce((sum, range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return sum + last - first + 1;
  }, 0);
}

/** Writes `value` to files of /sys, now and, if systemd is available, at every boot. */
function sysfs(host: Host, name: string, path: string, value: string): Fix {
  // Continues if one file cannot be written, and fails at the end.
  if (!hasSystemd(host)) return untilReboot(`echo ${value} | tee ${path} > /dev/null`);
  const file = `/etc/tmpfiles.d/escapement-${name}.conf`;
  return asRoot([`echo 'w ${path} - - - - ${value}' > ${file}`, `systemd-tmpfiles --create ${file}`]);
}

/** Reason why a file of /sys is missing. */
function absent(host: Host, otherwise: string): string {
  if (host.platform !== 'linux') return `unknown on ${host.platform}`;
  const isHidden = isContainer(host) && host.list(CPUS).length === 0;
  return isHidden ? '/sys is not visible in the container' : otherwise;
}
