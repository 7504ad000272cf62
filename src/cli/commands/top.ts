import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import { NS_PER_MS } from '../../core/units.js';
import { parseDuration } from '../../experiment/units-text.js';
import { oneValueOr } from '../args.js';

const DEFAULT_URL = 'http://127.0.0.1:8002';
const LEAST_INTERVAL_MS = 100;

/** `escapement top [URL]`: what a running controller is at, on the whole terminal. */
export function topCommand(cli: Argv): void {
  cli.command(
    'top [url]',
    'Watch a running controller: GPUs, queues, goodput, models',
    (command) =>
      command
        .positional('url', {
          type: 'string',
          default: DEFAULT_URL,
          describe: 'Metrics port of the controller',
        })
        .options({
          interval: oneValueOr('1s', 'Time between two looks'),
          once: {
            type: 'boolean',
            default: false,
            describe: 'Print how it is now as plain text; so it is where no terminal is',
          },
          json: { type: 'boolean', default: false, describe: 'Print how it is now as one JSON object' },
        })
        .example('$0 top', '')
        .example('$0 top http://10.0.0.1:8002 --once', ''),
    async (args) => {
      const url = urlOf(args.url);
      const intervalMs = intervalOf(args.interval);
      const { stdin, stdout } = process;
      if (args.json || args.once || !stdin.isTTY || !stdout.isTTY) {
        const { fetchStatus } = await import('../../top/fetch-status.js');
        const status = await fetchStatus(url);
        if (args.json) stdout.write(`${JSON.stringify(status)}\n`);
        else {
          const { plainText } = await import('../../top/plain-text.js');
          stdout.write(plainText({ url, status, problem: '' }, plainColumns()));
        }
        return;
      }
      const { runTop } = await import('../../top/run-top.js');
      const paint = process.env.NO_COLOR ? 'mono' : 'colour';
      await runTop({ url, intervalMs, paint, input: stdin, output: stdout });
    },
  );
}

/** As `http://HOST:PORT`; `http://` may be left out. Throws `E_USAGE`. */
function urlOf(text: string): string {
  const whole = /^[a-z]+:\/\//i.test(text) ? text : `http://${text}`;
  // A port alone would be taken for an address.
  const isNumber = /^\d+$/.test(text);
  if (!isNumber && URL.canParse(whole) && /^https?:/i.test(whole)) return new URL(whole).origin;
  throw new EscapementError('E_USAGE', `${text}: write a URL such as ${DEFAULT_URL}`);
}

function intervalOf(text: string): number {
  const problem = (): EscapementError =>
    new EscapementError('E_USAGE', `--interval ${text}: write a duration such as 1s, at least 100ms`);
  let intervalMs: number;
  try {
    intervalMs = parseDuration(text) / NS_PER_MS;
  } catch {
    throw problem();
  }
  if (intervalMs < LEAST_INTERVAL_MS) throw problem();
  return intervalMs;
}

function plainColumns(): number {
  return process.stdout.columns ?? (Number(process.env.COLUMNS) || 80);
}
