import type { Check } from '../../src/doctor/check.js';
import { environmentChecks } from '../../src/doctor/environment.js';
import { limitsChecks } from '../../src/doctor/limits.js';
import { processorChecks } from '../../src/doctor/processor.js';
import { type DoctorReport, makeReport } from '../../src/doctor/report.js';
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
  mend: { commands: ['nvidia-smi -i 0 -pm 1'], asUser: false, lostAtReboot: true },
};

/** The report of a worker on the CPU, from what can be read of a machine, and further checks. */
export function reportOf(recorded: Recorded, ...more: Check[]): DoctorReport {
  const host = recordedHost(recorded);
  const checks = [
    ...limitsChecks(host),
    ...environmentChecks(host, false),
    ...processorChecks(host),
    ...more,
  ];
  return makeReport({ role: 'worker', device: 'cpu', cacheBytes: 2 ** 30, container: false }, checks);
}
