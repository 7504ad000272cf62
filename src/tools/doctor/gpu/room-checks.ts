import { formatBytes } from '../../../config/units-text.js';
import type { Check } from '../check.js';
import { notReported, reported } from './fields.js';
import { gpuCheck, type Subject } from './gpu-check.js';
import { type GpuFacts, memoryOf } from './query.js';

/** Whether the weights cache has room, and who else is there. */
export function roomChecks(gpu: GpuFacts, cacheBytes: number | null): Check[] {
  return [memory(gpu, cacheBytes), processes(gpu)];
}

function memory(gpu: GpuFacts, cacheBytes: number | null): Check {
  const subject: Subject = {
    key: 'memory',
    title: 'free memory',
    requiredFor: ['worker'],
    wanted:
      cacheBytes === null
        ? 'at least the weights cache'
        : `at least ${formatBytes(cacheBytes)}, the weights cache`,
    why: 'LOADs planned into memory that is not free fail, and so do the requests that wait for them.',
  };
  const size = memoryOf(gpu.row);
  if (size === null) {
    const divided = reported(gpu.row, 'mig') === 'Enabled';
    const found = divided ? 'divided into MIG instances' : notReported(gpu.row, 'memoryFreeMib');
    return gpuCheck(gpu, subject, { status: 'skipped', found });
  }
  const found = `${formatBytes(size.freeBytes)} free of ${formatBytes(size.totalBytes)}`;
  if (cacheBytes === null) {
    return gpuCheck(gpu, subject, { status: 'skipped', found: `${found}; no weights cache is configured` });
  }
  return gpuCheck(gpu, subject, { status: size.freeBytes >= cacheBytes ? 'ok' : 'failed', found });
}

function processes(gpu: GpuFacts): Check {
  const subject: Subject = {
    key: 'processes',
    title: 'other processes',
    // The process may be the worker that this machine is for.
    requiredFor: [],
    wanted: 'only the worker',
    why: 'Another process takes memory from the weights cache and time from every INFER.',
  };
  if (gpu.processes === null) {
    return gpuCheck(gpu, subject, { status: 'skipped', found: 'nvidia-smi did not list them' });
  }
  if (gpu.processes.length === 0) return gpuCheck(gpu, subject, { status: 'ok', found: 'none' });
  const listed = gpu.processes.slice(0, MOST_LISTED).map(({ pid, name }) => `${pid} ${name}`);
  const more = gpu.processes.length - listed.length;
  const found = [...listed, ...(more > 0 ? [`${more} more`] : [])].join('; ');
  return gpuCheck(gpu, subject, { status: 'failed', found });
}

const MOST_LISTED = 4;
