import { EscapementError } from '../base/errors.js';
import { formatBytes } from '../config/units-text.js';
import { defaultInflightBytes } from '../live/frontend/budget.js';
import type { ValuesOf } from './options.js';
import type { listenFlags, serverFlags } from './server-options.js';

/** Flags that a server could not do what they ask for with. Throws `E_USAGE`. */
export function checkServerFlags(
  args: Pick<
    ValuesOf<typeof serverFlags>,
    'max-body' | 'max-inflight' | 'max-batch' | 'max-client-requests' | 'cors' | 'ui'
  > &
    Pick<ValuesOf<typeof listenFlags>, 'metrics-port'>,
): void {
  if (args.ui && args['metrics-port'] === null)
    throw new EscapementError(
      'E_USAGE',
      '--ui: its page is on the metrics port: leave out --metrics-port off',
    );
  const { 'max-body': body, 'max-inflight': inflight = defaultInflightBytes(), cors } = args;
  if (body > inflight) {
    throw new EscapementError(
      'E_USAGE',
      `--max-body ${formatBytes(body)}: larger than --max-inflight (${formatBytes(inflight)}), which would refuse such a body: lower the one or raise the other`,
    );
  }
  const { 'max-batch': batch, 'max-client-requests': requests } = args;
  if (requests !== null && batch > requests) {
    throw new EscapementError(
      'E_USAGE',
      `--max-batch ${batch}: larger than --max-client-requests (${requests}), which would refuse such a batch: lower the one or raise the other`,
    );
  }
  for (const origin of cors?.split(',') ?? []) checkOrigin(origin.trim());
}

/** Browsers send scheme, host and a port that is not the scheme's own; what is written otherwise never matches. */
function checkOrigin(text: string): void {
  if (text === '*') return;
  const url = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s]+$/i.test(text) && URL.canParse(text) ? new URL(text) : null;
  // Of other schemes than those of the web there is no such form.
  const sent = url === null || url.origin === 'null' ? text : url.origin;
  if (url !== null && sent === text) return;
  const hint = url === null ? 'must be an origin such as https://app.example.com, or *' : `write ${sent}`;
  throw new EscapementError('E_USAGE', `--cors ${text}: ${hint}`);
}
