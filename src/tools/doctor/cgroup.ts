import { readCgroupLimits } from '../../base/limits/cgroups.js';
import { formatBytes } from '../../config/units-text.js';
import { significant } from '../../text/numbers.js';
import type { Check } from './check.js';
import type { Host } from './host.js';
import { advise, checked, type Question, skipped } from './verdict.js';

/** What the control groups of a container or service leave to the process. `cacheBytes`: null where the cache is not here. */
export function cgroupChecks(host: Host, cacheBytes: number | null): Check[] {
  return [cpuQuota(host), memoryLimit(host, cacheBytes)];
}

function cpuQuota(host: Host): Check {
  const question: Question = {
    id: 'limits.cpu-quota',
    title: 'CPU limit',
    requiredFor: [],
    wanted: 'none, or as much as the cores that the process may run on',
    why: 'The kernel stops all threads of a process that has used up its quota, up to 100 ms, in the middle of an INFER.',
  };
  if (host.platform !== 'linux') return skipped(question, `unknown on ${host.platform}`);
  const limit = readCgroupLimits((path) => host.read(path)).cpus;
  if (limit === null) return checked(question, true, 'none');
  const cores = allowedCores(host);
  const threads = Math.max(1, Math.floor(limit.value));
  const found = `${significant(limit.value, 3)} of ${cores} cores (${limit.file}); escapement plans for ${threads}`;
  const fix = advise(
    'leave out the CPU limit, or give the process cores of its own: --cpuset-cpus in Docker; in Kubernetes the static CPU manager, with equal requests and limits in whole cores',
  );
  return checked(question, limit.value >= cores, found, fix);
}

function memoryLimit(host: Host, cacheBytes: number | null): Check {
  const question: Question = {
    id: 'limits.memory',
    title: 'Memory limit',
    requiredFor: ['worker'],
    wanted: cacheBytes === null ? 'any' : `none, or more than ${formatBytes(cacheBytes)}`,
    why: 'The kernel kills a process that grows beyond its limit; a weights cache in host memory counts.',
  };
  if (host.platform !== 'linux') return skipped(question, `unknown on ${host.platform}`);
  const limit = readCgroupLimits((path) => host.read(path)).memoryBytes;
  if (limit === null) return checked(question, true, 'none');
  const found = `${formatBytes(limit.value)} (${limit.file})`;
  const fix = advise('raise the memory limit, or choose a smaller cache with --memory');
  return checked(question, cacheBytes === null || limit.value > cacheBytes, found, fix);
}

/** Processors that the kernel lets the process run on: "0-3,8". */
function allowedCores(host: Host): number {
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(host.read('/proc/self/status') ?? '')?.[1] ?? '';
  return list.split(',').reduce((sum, range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return sum + last - first + 1;
  }, 0);
}
