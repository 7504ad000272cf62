import { EscapementError } from '../../base/errors.js';
import type { Provider } from '../../live/device.js';
import { sessionSettings } from '../../serve/session-settings.js';
import { terminalWidth, writeOut } from '../../text/terminal.js';
import type { DoctorReport } from '../../tools/doctor/report.js';
import type { DoctorArgs } from '../commands/doctor.js';
import { runtimeOf, type SettingsArgs } from '../live-settings.js';
import { openProgress } from '../progress.js';
import { tokenOf, trustOf } from '../token.js';
import { weightsCacheBytes } from '../weights-cache.js';

/** `escapement doctor`: whether this machine can give predictable latencies, and how to fix what prevents it. */
export async function run(args: DoctorArgs): Promise<void> {
  if (args.json && args['fix-script']) {
    throw new EscapementError('E_USAGE', '--json and --fix-script cannot be combined');
  }
  const { role, device } = args;
  const options = {
    role,
    device,
    cacheBytes: await cacheBytes(args, device),
    peers: args.peer.map(peerUrl),
    token: await tokenOf(args),
    trust: await trustOf(args),
  };
  // Loaded late: wrong flags are reported without it.
  const { thisHost } = await import('../../tools/doctor/host.js');
  const { examine } = await import('../../tools/doctor/examine.js');
  const progress = openProgress('examining', !process.stderr.isTTY);
  const report = await examine(thisHost(), { ...options, onProgress: progress.update }).finally(
    progress.stop,
  );
  if (args.json) writeOut(`${JSON.stringify(report)}\n`);
  else if (args['fix-script']) writeOut(await scriptOf(report));
  else writeOut(await textOf(report), { colors: true });
  if (!report.ok) throw new EscapementError('E_DOCTOR', failure(report));
}

async function scriptOf(report: DoctorReport): Promise<string> {
  const { fixScript } = await import('../../tools/doctor/fix-script.js');
  return fixScript(report);
}

async function textOf(report: DoctorReport): Promise<string> {
  const { reportText } = await import('../../tools/doctor/text.js');
  // https://no-color.org: present and not empty.
  const colour = process.stdout.isTTY === true && !process.env.NO_COLOR;
  return reportText(report, { columns: terminalWidth(), colour });
}

/** What a worker with the same flags would take. More than it may take is for a check to find. */
async function cacheBytes(
  args: SettingsArgs & { readonly memory: number | undefined },
  kind: Provider,
): Promise<number> {
  const runtime = await runtimeOf(args);
  if (args.memory !== undefined) return args.memory;
  return weightsCacheBytes(
    [{ kind, adapter: 0, session: sessionSettings(runtime) }],
    null,
    runtime.memoryReserve,
  );
}

function peerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const bare = url !== null && url.pathname === '/' && url.search === '' && url.hash === '';
  if (bare && /^https?:$/.test(url.protocol) && url.username === '') return url.origin;
  throw new EscapementError('E_USAGE', `--peer ${text}: must be http://HOST:PORT or https://HOST:PORT`);
}

function failure({ checks }: DoctorReport): string {
  const failed = checks.filter(({ required, status }) => required && status === 'failed');
  const ids = failed.map(({ id }) => id).join(', ');
  return `${failed.length} required ${failed.length === 1 ? 'check' : 'checks'} failed: ${ids}`;
}
