import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS } from '../../base/units.js';
import { writeOut } from '../../text/terminal.js';
import type { TopArgs } from '../commands/top.js';
import { tokenOf } from '../token.js';
import { trustOf } from '../trust.js';

const DEFAULT_URL = 'http://127.0.0.1:8002';
const LEAST_INTERVAL_MS = 100;

/** `escapement top [URL]`: the live state of a running controller, on the whole terminal. */
export async function run(args: TopArgs): Promise<void> {
  const url = urlOf(args.url);
  const intervalMs = intervalOf(args.interval);
  const access = { token: await tokenOf(args), trust: await trustOf(args) };
  const { stdin, stdout } = process;
  if (args.json || args.once || !stdin.isTTY || !stdout.isTTY) {
    const { fetchStatus } = await import('../../tools/top/fetch-status.js');
    const status = await fetchStatus(url, access);
    const { topLines } = await import('../../tools/top/top-text.js');
    const lines = args.json ? [JSON.stringify(status)] : topLines({ url, status, problem: '' });
    writeOut(`${lines.join('\n')}\n`);
    return;
  }
  const { runTop } = await import('../../tools/top/run-top.js');
  await runTop({ url, ...access, intervalMs, input: stdin, output: stdout });
}

/** As `http://HOST:PORT`; `http://` may be left out. Throws `E_USAGE`. */
function urlOf(text: string): string {
  const whole = /^[a-z]+:\/\//i.test(text) ? text : `http://${text}`;
  // A port alone would be taken for an address.
  const isNumber = /^\d+$/.test(text);
  if (!isNumber && URL.canParse(whole) && /^https?:/i.test(whole)) return new URL(whole).origin;
  throw new EscapementError('E_USAGE', `${text}: must be a URL such as ${DEFAULT_URL}`);
}

function intervalOf(ns: number): number {
  const intervalMs = ns / NS_PER_MS;
  if (intervalMs >= LEAST_INTERVAL_MS) return intervalMs;
  throw new EscapementError('E_USAGE', `--interval: must be at least ${LEAST_INTERVAL_MS}ms`);
}
