import { EscapementError } from '../../base/errors.js';
import { checkWritable, writeWhole } from '../../base/files/output-file.js';
import { NS_PER_MS } from '../../base/units.js';
import { terminalWidth, writeOut } from '../../text/terminal.js';
import { plural } from '../../text/words.js';
import type { ConformReport } from '../../tools/conform/conform.js';
import type { Endpoint } from '../../tools/conform/wire/endpoint.js';
import type { ConformArgs } from '../commands/conform.js';
import { wholeNumber } from '../options.js';
import { checkOutputFlags, checkReplacesXml } from '../output-flags.js';
import { openProgress } from '../progress.js';
import { read, tokenOf } from '../token.js';

/** `escapement conform URL`: whether an inference server does what the Open Inference Protocol says. */
export async function run(args: ConformArgs): Promise<void> {
  const endpoint = await endpointOf(args);
  const { junit } = args;
  checkOutputFlags({ junit }, []);
  if (junit !== undefined) {
    checkReplacesXml('junit', junit);
    checkWritable(junit);
  }
  // Loaded late: wrong flags are reported without it.
  const { conform, checkChosen } = await import('../../tools/conform/conform.js');
  checkChosen(args.only, endpoint.grpc);
  const progress = openProgress('examining', args.quiet || !process.stderr.isTTY);
  const report = await conform(endpoint, {
    model: args.model,
    only: args.only,
    mayUnload: args.unload,
    senders: {
      priorities: args.priority.map((given) => wholeNumber(given, '--priority', 1)),
      tenantHeader: headerPart(args['tenant-header'], 'tenant-header'),
      limitedTenant: args['limited-tenant'] && headerPart(args['limited-tenant'], 'limited-tenant'),
    },
    onProgress: progress.update,
  }).finally(progress.stop);
  if (args.json) writeOut(`${JSON.stringify(report)}\n`);
  else writeOut(await textOf(report), { colors: true });
  if (junit !== undefined) {
    const { junitXml } = await import('../../tools/conform/junit.js');
    writeWhole(junit, junitXml(report));
  }
  const failed = args.strict ? [...report.failed, ...report.advised] : report.failed;
  if (failed.length > 0) throw new EscapementError('E_CONFORM', failureText(failed));
}

async function endpointOf(args: ConformArgs): Promise<Endpoint> {
  return {
    url: urlOf(args.url),
    grpc: args.grpc === undefined ? null : grpcOf(args.grpc),
    token: (await tokenOf(args)) ?? undefined,
    ca: args.ca === undefined ? undefined : await read(args.ca, 'ca'),
    insecure: args.insecure,
    timeoutMs: Math.max(1, Math.round(args.timeout / NS_PER_MS)),
    maxAnswerBytes: args['max-answer'],
  };
}

/** Throws `E_USAGE`. */
function headerPart(text: string, flag: string): string {
  if (/^[\w.-]+$/.test(text)) return text;
  throw new EscapementError('E_USAGE', `--${flag} ${text}: write letters, digits and - _ . only`);
}

/** Throws `E_USAGE`. */
function urlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && url.host !== '' && /^https?:$/.test(url.protocol) && url.search === '') return url;
  throw new EscapementError('E_USAGE', `${text}: write http://HOST:PORT or https://HOST:PORT`);
}

/** Throws `E_USAGE`. */
function grpcOf(text: string): string {
  const address = text.replace(/^grpcs?:\/\//, '').replace(/\/$/, '');
  if (/^(?:\[[0-9a-f:]+\]|[\w.-]+):\d{1,5}$/i.test(address)) return address;
  throw new EscapementError('E_USAGE', `--grpc ${text}: write HOST:PORT`);
}

async function textOf(report: ConformReport): Promise<string> {
  const { reportText } = await import('../../tools/conform/text.js');
  // https://no-color.org: present and not empty.
  const colour = process.stdout.isTTY === true && !process.env.NO_COLOR;
  return reportText(report, { columns: terminalWidth(), colour });
}

function failureText(failed: readonly string[]): string {
  const ids = failed.slice(0, 10).join(', ');
  return `${plural(failed.length, 'case')} failed: ${ids}${failed.length > 10 ? ', …' : ''}`;
}
