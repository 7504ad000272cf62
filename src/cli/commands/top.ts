import { NS_PER_MS } from '../../base/units.js';
import { accessFlags, json, print } from '../common-options.js';
import { untilStopped } from '../interruption.js';
import { duration, group, METRICS_URL, metricsUrl, toggle, usageError, type ValuesOf } from '../options.js';
import { accessOf } from '../token.js';

const LEAST_INTERVAL_MS = 100;

export const flags = {
  url: metricsUrl.or(METRICS_URL, 'Metrics port of the controller'),
  ...group('Options', {
    interval: duration.or('1s', 'Refresh interval, at least 100ms'),
    once: toggle('Print the current state as plain text and exit; implied without a terminal'),
    json,
  }),
  ...accessFlags,
};
export const examples = [
  'top',
  'top http://10.0.0.1:8002 --once',
  'top https://10.0.0.1:8002 --ca ca.pem --token-file token',
];

/** `escapement top [URL]`: live state of a running controller. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { url } = args;
  const intervalMs = args.interval / NS_PER_MS;
  if (intervalMs < LEAST_INTERVAL_MS) throw usageError(`--interval: must be at least ${LEAST_INTERVAL_MS}ms`);
  const access = await accessOf(args);
  if (args.json || args.once || !process.stdout.isTTY) {
    const { fetchStatus } = await import('../../tools/top/fetch-status.js');
    const status = await fetchStatus(url, access);
    const { topLines } = await import('../../tools/top/top-text.js');
    return print(args, status, () => `${topLines({ url, status, problem: '' }).join('\n')}\n`);
  }
  const { runTop } = await import('../../tools/top/run-top.js');
  const quit = new AbortController();
  void untilStopped().then(() => quit.abort());
  await runTop({ url, access, intervalMs, output: process.stdout, quit: quit.signal });
}
