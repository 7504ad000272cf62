import { Agent, request } from 'undici';
import { EscapementError } from '../../base/errors.js';
import { protocolHint } from '../../base/protocol-hint.js';
import { MIB } from '../../base/units.js';
import {
  type ClusterStatus,
  STATUS_VERSION,
  statusSchema,
} from '../../live/observe/status/cluster-status.js';
import type { TargetOptions } from '../../load/target.js';

/** Token that a controller requires, and trust in its certificate. */
export type Access = Pick<TargetOptions, 'token' | 'ca' | 'insecure'>;

const ADVICE = 'pass the metrics port of a controller (8002 unless --metrics-port changes it)';
const LONGEST_QUOTE = 60;
/** Codes of untrusted certificates, such as DEPTH_ZERO_SELF_SIGNED_CERT and CERT_HAS_EXPIRED. */
const CERTIFICATE = /CERT|ISSUER|SIGNATURE/;
const TIMEOUT_MS = 3000;
const MOST_BYTES = 16 * MIB;

/** State of a controller. Throws `E_SERVER` if there is no answer, or not a controller's. */
export async function fetchStatus(
  url: string,
  access: Access = {},
  signal?: AbortSignal,
): Promise<ClusterStatus> {
  const fail = (what: string) => new EscapementError('E_SERVER', `${url} ${what}`);
  const { status, body } = await ask(new URL('/status', url).href, access, signal).catch(
    (error: NodeJS.ErrnoException) => {
      const { name, code = '', message } = error;
      // There is no message if several addresses of one name have failed.
      const reason = name === 'TimeoutError' ? `no answer in ${TIMEOUT_MS / 1000} s` : message || code;
      const advice = CERTIFICATE.test(code) ? 'name its authority with --ca' : ADVICE;
      throw fail(`cannot be reached (${reason}${protocolHint(url, reason)}): ${advice}`);
    },
  );
  if (status === 401) {
    throw fail(
      access.token === undefined
        ? 'requires a token: give its file with --token-file'
        : 'rejects the token of --token-file',
    );
  }
  if (status !== 200) throw fail(`answers ${status} to GET /status: ${ADVICE}`);
  const found = asJson(body);
  const parsed = statusSchema.safeParse(found);
  if (parsed.success) return parsed.data;
  const { version } = (found ?? {}) as { readonly version?: unknown };
  throw fail(
    typeof version === 'number' && version !== STATUS_VERSION
      ? `is a controller of another version (status ${version}): use the same version of escapement for both`
      : `is not a controller: it answers ${JSON.stringify(body.slice(0, LONGEST_QUOTE))} to GET /status: ${ADVICE}`,
  );
}

async function ask(url: string, { token, ca, insecure }: Access, signal?: AbortSignal) {
  const connect = { rejectUnauthorized: insecure !== true, ...(ca === undefined ? {} : { ca }) };
  const dispatcher = new Agent({ connect, maxResponseSize: MOST_BYTES });
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const signals = [AbortSignal.timeout(TIMEOUT_MS), ...(signal === undefined ? [] : [signal])];
  try {
    const answer = await request(url, { dispatcher, headers, signal: AbortSignal.any(signals) });
    return { status: answer.statusCode, body: await answer.body.text() };
  } finally {
    await dispatcher.destroy();
  }
}

/** Value of a JSON text; null if it is malformed. */
function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
