import type { Check } from '../../../src/tools/doctor/check.js';
import { type DoctorReport, makeReport } from '../../../src/tools/doctor/check.js';
import { type Recorded, read } from './hosts.js';

/** A check of a GPU that fails. */
export const PERSISTENCE: Check = {
  id: 'gpu.persistence',
  title: 'Persistence mode',
  status: 'failed',
  requiredFor: ['worker'],
  found: 'Disabled',
  wanted: 'Enabled',
  why: 'Otherwise the driver forgets its settings.',
  fix: { commands: ['nvidia-smi -i 0 -pm 1'], asUser: false, note: 'lost at the next reboot' },
};

/** The report of a worker on the CPU, from what can be read of a machine, and further checks. */
export function reportOf(recorded: Recorded, ...more: Check[]): DoctorReport {
  const groups = /^(limits\.(?!cpu-quota|memory$)|environment|cpu)/;
  const checks = [...read(recorded).filter(({ id }) => groups.test(id)), ...more];
  return makeReport({ role: 'worker', device: 'cpu', cacheBytes: 2 ** 30, container: false }, checks);
}
