import type { Check } from '../check.js';
import { notReported, reported } from './fields.js';
import { gpuCheck, isSet, type Subject, setting } from './gpu-check.js';
import type { GpuFacts } from './query.js';

/** Persistence mode, compute mode, and MIG where it is on. */
export function modeChecks(gpu: GpuFacts): Check[] {
  return [persistence(gpu), computeMode(gpu), ...mig(gpu)];
}

function persistence(gpu: GpuFacts): Check {
  const subject: Subject = {
    key: 'persistence',
    title: 'persistence mode',
    requiredFor: ['worker'],
    wanted: 'Enabled',
    why:
      'Otherwise the driver shuts the GPU down when its last process ends, forgets its settings, and needs ' +
      'seconds to start the next process.',
  };
  const mode = reported(gpu.row, 'persistence');
  if (mode === null)
    return gpuCheck(gpu, subject, { status: 'skipped', found: notReported(gpu.row, 'persistence') });
  const note = 'to keep it, start nvidia-persistenced at boot';
  const fix = { ...setting(gpu, '-pm 1'), note };
  if (mode === 'Enabled') return gpuCheck(gpu, subject, isSet(mode, fix));
  return gpuCheck(gpu, subject, { status: 'failed', found: mode, fix });
}

function computeMode(gpu: GpuFacts): Check {
  const mode = reported(gpu.row, 'computeMode');
  const subject: Subject = {
    key: 'compute-mode',
    title: 'compute mode',
    // In this mode nothing can run on it.
    requiredFor: mode === 'Prohibited' ? ['worker'] : [],
    wanted: 'Exclusive_Process',
    why: 'A second process on the GPU takes turns with the first, and each INFER takes longer than its profile says.',
  };
  if (mode === null)
    return gpuCheck(gpu, subject, { status: 'skipped', found: notReported(gpu.row, 'computeMode') });
  const fix = setting(gpu, '-c EXCLUSIVE_PROCESS');
  if (mode === subject.wanted) return gpuCheck(gpu, subject, isSet(mode, fix));
  return gpuCheck(gpu, subject, { status: 'failed', found: mode, fix });
}

function mig(gpu: GpuFacts): Check[] {
  if (reported(gpu.row, 'mig') !== 'Enabled') return [];
  const subject: Subject = {
    key: 'mig',
    title: 'MIG mode',
    requiredFor: [],
    wanted: 'Disabled',
    why: 'A process sees one instance of the divided GPU, while a worker plans with the whole GPU.',
  };
  // Some boards remember this mode; disabled is the default of the others.
  const fix = { ...setting(gpu, '-mig 0'), lostAtReboot: false, note: 'when nothing runs on it' };
  return [gpuCheck(gpu, subject, { status: 'failed', found: 'Enabled', fix })];
}
