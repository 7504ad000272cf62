import type { Check } from '../check.js';
import { told, untold } from './fields.js';
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
      'Otherwise the driver puts the GPU to sleep when its last process ends, forgets its settings, and takes ' +
      'seconds for the next process.',
  };
  const mode = told(gpu.row, 'persistence');
  if (mode === null)
    return gpuCheck(gpu, subject, { status: 'skipped', found: untold(gpu.row, 'persistence') });
  const note = 'nvidia-persistenced, started at boot, enables it every time';
  const mend = { ...setting(gpu, '-pm 1'), note };
  if (mode === 'Enabled') return gpuCheck(gpu, subject, isSet(mode, mend));
  return gpuCheck(gpu, subject, { status: 'failed', found: mode, mend });
}

function computeMode(gpu: GpuFacts): Check {
  const mode = told(gpu.row, 'computeMode');
  const subject: Subject = {
    key: 'compute-mode',
    title: 'compute mode',
    // In this mode nothing runs on it at all.
    requiredFor: mode === 'Prohibited' ? ['worker'] : [],
    wanted: 'Exclusive_Process',
    why: 'A second process on the GPU takes turns with the first, and each INFER then takes longer than its profile says.',
  };
  if (mode === null)
    return gpuCheck(gpu, subject, { status: 'skipped', found: untold(gpu.row, 'computeMode') });
  const mend = setting(gpu, '-c EXCLUSIVE_PROCESS');
  if (mode === subject.wanted) return gpuCheck(gpu, subject, isSet(mode, mend));
  return gpuCheck(gpu, subject, { status: 'failed', found: mode, mend });
}

function mig(gpu: GpuFacts): Check[] {
  if (told(gpu.row, 'mig') !== 'Enabled') return [];
  const subject: Subject = {
    key: 'mig',
    title: 'MIG mode',
    requiredFor: [],
    wanted: 'Disabled',
    why: 'A process sees one instance of the divided GPU, not the whole that a worker plans with.',
  };
  // Some boards remember this mode; disabled is the default of the others.
  const mend = { ...setting(gpu, '-mig 0'), lostAtReboot: false, note: 'when nothing runs on it' };
  return [gpuCheck(gpu, subject, { status: 'failed', found: 'Enabled', mend })];
}
