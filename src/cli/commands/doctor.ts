import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import { ROLES, type Role } from '../../doctor/check.js';
import type { DoctorReport } from '../../doctor/report.js';
import { PROVIDERS, type Provider } from '../../live/device.js';
import { sessionSettings } from '../../serving/session-settings.js';
import { manyValues, oneValueOr } from '../args.js';
import { provider } from '../device-flags.js';
import { runtimeOf } from '../live-settings.js';
import { bytes, machineFlags } from '../machine-flags.js';
import { openProgress } from '../progress.js';
import { runtimeFlags, type SettingsArgs } from '../runtime-flags.js';
import { terminalWidth } from '../text-layout.js';
import { weightsCacheBytes } from '../weights-cache.js';

/** `escapement doctor`: whether this machine is fit for predictable latencies, and what would make it so. */
export function doctorCommand(cli: Argv): void {
  cli.command(
    'doctor',
    'Check whether this machine lets latencies be predicted, and say how to mend what does not; status 6 if a required check fails',
    (command) =>
      command
        .options({
          role: oneValueOr('worker', `What the machine is for: ${ROLES.join(', ')}`),
          device: oneValueOr('cpu', `Execution provider of a worker: ${PROVIDERS.join(', ')}`),
          memory: machineFlags.memory,
          ...runtimeFlags,
          peer: manyValues({
            describe: "Compare clocks with another escapement's metrics port, e.g. http://10.0.0.2:8002",
          }),
          json: {
            type: 'boolean',
            default: false,
            describe: 'Print one JSON object on stdout and nothing else',
          },
          'fix-script': {
            type: 'boolean',
            default: false,
            describe: 'Print a shell script that mends what failed, to review and run',
          },
        })
        .example('$0 doctor', '')
        .example('$0 doctor --device cuda --memory 20GiB', '')
        .example('$0 doctor --role controller --peer http://10.0.0.2:8002', '')
        .example('$0 doctor --fix-script > fix.sh', ''),
    async (args) => {
      if (args.json && args['fix-script']) {
        throw new EscapementError('E_USAGE', '--json and --fix-script: stdout takes one of them');
      }
      const device = provider(args.device);
      const options = {
        role: role(args.role),
        device,
        cacheBytes: await cacheBytes(args, device),
        peers: args.peer.map(peerUrl),
      };
      // Only who examines needs the examiners.
      const { thisHost } = await import('../../doctor/host.js');
      const { examine } = await import('../../doctor/examine.js');
      const progress = openProgress('examining', !process.stderr.isTTY);
      const report = await examine(thisHost(), { ...options, onProgress: progress.update }).finally(
        progress.stop,
      );
      if (args.json) process.stdout.write(`${JSON.stringify(report)}\n`);
      else process.stdout.write(args['fix-script'] ? await scriptOf(report) : await textOf(report));
      if (!report.ok) throw new EscapementError('E_DOCTOR', failure(report));
    },
  );
}

async function scriptOf(report: DoctorReport): Promise<string> {
  const { fixScript } = await import('../../doctor/fix-script.js');
  return fixScript(report);
}

async function textOf(report: DoctorReport): Promise<string> {
  const { reportText } = await import('../../doctor/text.js');
  // https://no-color.org: present and not empty.
  const colour = process.stdout.isTTY === true && !process.env.NO_COLOR;
  return reportText(report, { columns: terminalWidth(), colour });
}

/** What a worker with the same flags would take. More than it may take is for a check to find. */
async function cacheBytes(
  args: SettingsArgs & { readonly memory: string | undefined },
  kind: Provider,
): Promise<number> {
  const runtime = await runtimeOf(args);
  if (args.memory !== undefined) return bytes(args.memory, 'memory');
  return weightsCacheBytes(
    [{ kind, adapter: 0, session: sessionSettings(runtime) }],
    null,
    runtime.memoryReserve,
  );
}

function role(text: string): Role {
  const known = ROLES.find((name) => name === text);
  if (known !== undefined) return known;
  throw new EscapementError('E_USAGE', `--role ${text}: choose one of ${ROLES.join(', ')}`);
}

function peerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const bare = url !== null && url.pathname === '/' && url.search === '' && url.hash === '';
  if (bare && url.protocol === 'http:' && url.username === '') return url.origin;
  throw new EscapementError('E_USAGE', `--peer ${text}: write http://HOST:PORT`);
}

function failure({ checks }: DoctorReport): string {
  const failed = checks.filter(({ required, status }) => required && status === 'failed');
  const ids = failed.map(({ id }) => id).join(', ');
  return `${failed.length} required ${failed.length === 1 ? 'check' : 'checks'} failed: ${ids}`;
}
