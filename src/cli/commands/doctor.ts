import { EscapementError } from '../../base/errors.js';
import { terminalWidth, writeOut } from '../../text/terminal.js';
import { plural } from '../../text/words.js';
import { ROLES } from '../../tools/doctor/check.js';
import { json, print } from '../common-options.js';
import { choice, group, toggle, type ValuesOf } from '../options.js';
import { deviceFlags, machineFlags, runtimeFlags } from '../server-options.js';

const fixScript = toggle('Print a shell script with the fixes, for review');
export const flags = {
  ...group('Machine', {
    role: choice(ROLES).or('worker', 'Role of the machine'),
    device: deviceFlags.device,
    memory: machineFlags.memory,
  }),
  ...runtimeFlags,
  ...group('Output', { json, 'fix-script': { ...fixScript, conflicts: 'json' } }),
};
export const examples = [
  'doctor',
  'doctor --device cuda --memory 20GiB',
  'doctor --role controller',
  'doctor --fix-script > fix.sh',
];
export const notes = 'Each problem is listed with its cause and a fix. Exit code 6: a required check failed.';

type DoctorArgs = ValuesOf<typeof flags>;

export async function handler(args: DoctorArgs): Promise<void> {
  const { role, device, 'fix-script': isScript } = args;
  const cacheBytes = await cacheBytesOf(args);
  const { thisHost } = await import('../../tools/doctor/host.js');
  const { examine } = await import('../../tools/doctor/examine.js');
  const { fixScript, reportText } = await import('../../tools/doctor/text.js');
  const { openProgress } = await import('../progress.js');
  const progress = openProgress('examining', !process.stderr.isTTY);
  const options = { role, device, cacheBytes, onProgress: progress.update };
  const report = await examine(thisHost(), options).finally(progress.stop);
  if (args.json || isScript) print(args, report, () => fixScript(report));
  else {
    // https://no-color.org: present and not empty.
    const colour = process.stdout.isTTY === true && !process.env.NO_COLOR;
    writeOut(reportText(report, { columns: terminalWidth(), colour }), { colors: true });
  }
  const failed = report.checks.filter(({ required, status }) => required && status === 'failed');
  if (failed.length === 0) return;
  const ids = failed.map(({ id }) => id).join(', ');
  throw new EscapementError('E_DOCTOR', `${plural(failed.length, 'required check')} failed: ${ids}`);
}

/** Size in bytes of the weights cache of a worker with the same flags. Oversize is reported by a check. */
async function cacheBytesOf(args: DoctorArgs): Promise<number> {
  const { runtimeOf } = await import('../live-settings.js');
  const runtime = await runtimeOf(args);
  if (args.memory !== undefined) return args.memory;
  const { weightsCacheBytes } = await import('../weights-cache.js');
  const device = { kind: args.device, adapter: 0, session: runtime };
  return weightsCacheBytes([device], null, runtime.memoryReserve);
}
