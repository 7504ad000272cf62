import { readCgroupLimits } from '../../base/limits/cgroups.js';
import { formatBytes } from '../../config/units-text.js';
import { formatCount, significant } from '../../text/numbers.js';
import { advise, asRoot, inShell, ROLES, type Row } from './check.js';
import { type Host, isContainer, type Machine } from './host.js';

/** A check of a kernel limit that a process inherits from its parent. */
function inherited(
  row: Pick<Row<Machine>, 'id' | 'title' | 'requiredFor' | 'wanted' | 'why'>,
  name: string,
  item: string,
  atLeast: number,
): Row<Machine> {
  const value = atLeast === Number.POSITIVE_INFINITY ? 'unlimited' : String(atLeast);
  const inUnit = value === 'unlimited' ? 'infinity' : value;
  // Logins read limits.conf, systemd units do not; its `*` excludes root.
  const lines = `'* - ${item} ${value}' 'root - ${item} ${value}'`;
  const onMachine = asRoot(
    [`printf '%s\\n' ${lines} > /etc/security/limits.d/escapement-${item}.conf`],
    `takes effect at the next login; in this shell at once: sudo prlimit --pid $$ --${item}=${value}:${value}; ` +
      `in a systemd unit: Limit${item.toUpperCase()}=${inUnit}`,
  );
  const inContainer = advise(
    `start the container with --ulimit ${item}=${value === 'unlimited' ? '-1' : value}`,
  );
  const text = new RegExp(`^${name} +(\\d+|unlimited)`, 'm');
  const read: Row<Machine>['read'] = ({ host }) => {
    const soft = text.exec(host.read('/proc/self/limits') ?? '')?.[1];
    if (soft === undefined) return `cannot be read on ${host.platform}`;
    const fix = isContainer(host) ? inContainer : onMachine;
    if (soft === 'unlimited') return { ok: true, found: soft, fix };
    const unit = item === 'memlock' ? ' bytes' : '';
    return { ok: Number(soft) >= atLeast, found: `${formatCount(Number(soft))}${unit}`, fix };
  };
  return { ...row, read };
}

const OPEN_FILES = 65_535;
const MAP_COUNT = 10_000_000;
const MAP_COUNT_FILE = '/proc/sys/vm/max_map_count';

/** Limits of a process and its control groups. */
export const LIMITS: readonly Row<Machine>[] = [
  inherited(
    {
      id: 'limits.open-files',
      title: 'Open files',
      requiredFor: ROLES,
      wanted: `at least ${formatCount(OPEN_FILES)}`,
      why: 'Each connection of a client or worker takes one; at the limit, new connections are refused.',
    },
    'Max open files',
    'nofile',
    OPEN_FILES,
  ),
  inherited(
    {
      id: 'limits.locked-memory',
      title: 'Locked memory',
      requiredFor: [],
      wanted: 'unlimited',
      why: 'Drivers lock the memory that they copy weights from. Memory that cannot be locked is copied twice, or the copy fails.',
    },
    'Max locked memory',
    'memlock',
    Number.POSITIVE_INFINITY,
  ),
  inherited(
    {
      id: 'limits.realtime-priority',
      title: 'Real-time priority',
      requiredFor: [],
      wanted: '99 or unlimited',
      why: 'Allows running a worker ahead of other processes (chrt). Measure it first: with few cores it makes latencies worse.',
    },
    'Max realtime priority',
    'rtprio',
    99,
  ),
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
    wanted: 'none, or as much as the cores that the process may run on',
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
];

export const MEMORY: Row<Machine> = {
  id: 'memory.device',
  title: 'Free memory for the weights cache',
  requiredFor: ['worker'],
  wanted: ({ cacheBytes }) => `at least ${formatBytes(cacheBytes)}`,
  why: 'The scheduler relies on the whole cache; a LOAD without memory fails, or swaps for seconds.',
  // GPUs have their own checks.
  applies: ({ role, device }) => role === 'worker' && device !== 'cuda',
  read: ({ host, device, cacheBytes }) => {
    if (device !== 'cpu') return `onnxruntime does not report it for ${device}`;
    const { availableBytes, platform } = host;
    if (availableBytes === null) return `unknown on ${platform}`;
    return {
      ok: availableBytes >= cacheBytes,
      found: `${formatBytes(availableBytes)} for a cache of ${formatBytes(cacheBytes)}`,
      fix: advise('stop other programs that use memory, or choose a smaller cache with --memory'),
    };
  },
};

/** Largest block that glibc allocates from a heap shared between threads; larger ones are mapped. */
const MMAP_THRESHOLD = 131_072;
const NO_CUDA = 'no NVIDIA driver is loaded, and --device is not cuda';

/** Variables that must be set before a worker starts. */
export const ENVIRONMENT: readonly Row<Machine>[] = [
  {
    id: 'environment.allocator',
    title: 'Allocator returns memory',
    requiredFor: ['worker'],
    wanted: `MALLOC_MMAP_THRESHOLD_=${MMAP_THRESHOLD} MALLOC_TRIM_THRESHOLD_=0`,
    why: "glibc otherwise keeps what an unloaded model took, and the process grows until the machine's memory is gone.",
    applies: isWorker,
    read: ({ host }) => {
      const { LD_PRELOAD = '', MALLOC_MMAP_THRESHOLD_: mmap, MALLOC_TRIM_THRESHOLD_: trim } = host.env;
      if (!host.isGlibc) return 'a glibc setting, and this system does not use glibc';
      const other = /jemalloc|tcmalloc|mimalloc/.exec(LD_PRELOAD)?.[0];
      if (other !== undefined) return `${other} is preloaded and has its own settings`;
      const both = `${assignment('MALLOC_MMAP_THRESHOLD_', mmap)} ${assignment('MALLOC_TRIM_THRESHOLD_', trim)}`;
      return {
        ok: Number(mmap) <= MMAP_THRESHOLD && Number(trim) === 0,
        found: mmap === undefined && trim === undefined ? 'neither is set' : both,
        fix: inShell(`export MALLOC_MMAP_THRESHOLD_=${MMAP_THRESHOLD} MALLOC_TRIM_THRESHOLD_=0`),
      };
    },
  },
  {
    id: 'environment.cuda-cache',
    title: 'CUDA does not cache compiled kernels on disk',
    requiredFor: [],
    wanted: 'CUDA_CACHE_DISABLE=1',
    why: 'Otherwise the first runs of a model depend on what other processes left in ~/.nv.',
    applies: isWorker,
    read: (machine) => {
      if (!hasCuda(machine)) return NO_CUDA;
      const { CUDA_CACHE_DISABLE: value } = machine.host.env;
      const fix = inShell('export CUDA_CACHE_DISABLE=1');
      return { ok: value === '1', found: assignment('CUDA_CACHE_DISABLE', value), fix };
    },
  },
  {
    id: 'environment.cuda-jit',
    title: 'CUDA uses precompiled kernels',
    requiredFor: ['worker'],
    wanted: 'CUDA_FORCE_PTX_JIT is not set',
    why: 'If it is set, the driver recompiles each kernel at its first use, in the middle of a LOAD or INFER.',
    applies: isWorker,
    read: (machine) => {
      if (!hasCuda(machine)) return NO_CUDA;
      const { CUDA_FORCE_PTX_JIT: value } = machine.host.env;
      const ok = value === undefined || value === '' || value === '0';
      return { ok, found: assignment('CUDA_FORCE_PTX_JIT', value), fix: inShell('unset CUDA_FORCE_PTX_JIT') };
    },
  },
];

/** True if the weights cache is in the memory of the process. */
function holdsCache({ role, device }: Machine): boolean {
  return role === 'worker' && device === 'cpu';
}

function isWorker({ role }: Machine): boolean {
  return role === 'worker';
}

/** True if CUDA is requested, or its driver is loaded. */
function hasCuda({ host, device }: Machine): boolean {
  return device === 'cuda' || host.read('/proc/driver/nvidia/version') !== null;
}

function assignment(name: string, value: string | undefined): string {
  return value === undefined ? `${name} is not set` : `${name}=${value}`;
}

/** Number of processors that the kernel allows the process, from "0-3,8". */
function allowedCores(host: Host): number {
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(host.read('/proc/self/status') ?? '')?.[1] ?? '';
  return list.split(',').reduce((sum, range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return sum + last - first + 1;
  }, 0);
}
