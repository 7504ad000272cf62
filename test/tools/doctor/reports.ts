import type { Check } from '../../../src/tools/doctor/check.js';
import { cpuChecks } from '../../../src/tools/doctor/cpu.js';
import { environmentChecks } from '../../../src/tools/doctor/environment.js';
import { limitsChecks } from '../../../src/tools/doctor/limits.js';
import { type DoctorReport, makeReport } from '../../../src/tools/doctor/report.js';
import { type Recorded, recordedHost } from './hosts.js';

/** A check of a GPU that fails, whose setting the next reboot undoes. */
export const PERSISTENCE: Check = {
  id: 'gpu.0.persistence',
  title: 'GPU 0: persistence mode',
  status: 'failed',
  requiredFor: ['worker'],
  found: 'Disabled',
  wanted: 'Enabled',
  why: 'Otherwise the driver forgets its settings.',
  fix: { commands: ['nvidia-smi -i 0 -pm 1'], asUser: false, lostAtReboot: true },
};

/** The report of a worker on the CPU, from what can be read of a machine, and further checks. */
export function reportOf(recorded: Recorded, ...more: Check[]): DoctorReport {
  const host = recordedHost(recorded);
  const checks = [...limitsChecks(host), ...environmentChecks(host, false), ...cpuChecks(host), ...more];
  return makeReport({ role: 'worker', device: 'cpu', cacheBytes: 2 ** 30, container: false }, checks);
}
