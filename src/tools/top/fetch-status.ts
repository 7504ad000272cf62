import { get as getPlain, type IncomingMessage } from 'node:http';
import { get as getOverTls } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import { EscapementError } from '../../base/errors.js';
import { protocolHint } from '../../base/protocol-hint.js';
import { MIB } from '../../base/units.js';
import {
  type ClusterStatus,
  STATUS_VERSION,
  statusSchema,
} from '../../live/observe/status/cluster-status.js';

const ADVICE = 'pass the metrics port of a controller (8002 unless --metrics-port changes it)';
/** What takes longer than this counts as no answer. */
const TIMEOUT_MS = 3000;
const LONGEST_QUOTE = 60;
/** A status takes less. */
const MOST_BYTES = 16 * MIB;

/** How a controller is asked. */
export interface StatusAccess {
  /** What it asks for; null: nothing. */
  readonly token: string | null;
  /** What its certificate is checked against, if it has one. */
  readonly trust: Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized'>;
}

const OPEN: StatusAccess = { token: null, trust: {} };

/** Asks a controller how it is, with its token if it asks for one. Throws `E_SERVER` where there is none, or something else. */
export async function fetchStatus(url: string, access = OPEN): Promise<ClusterStatus> {
  const { status, body } = await get(url, access);
  const { token } = access;
  if (status === 401) {
    const what =
      token === null
        ? 'asks for a token: give its file with --token-file'
        : 'takes another token than that of --token-file';
    throw new EscapementError('E_SERVER', `${url} ${what}`);
  }
  if (status !== 200) {
    throw new EscapementError('E_SERVER', `${url} answers ${status} to GET /status: ${ADVICE}`);
  }
  const parsed = statusSchema.safeParse(asJson(body));
  if (parsed.success) return parsed.data;
  const { version } = (asJson(body) ?? {}) as { readonly version?: unknown };
  const what =
    typeof version === 'number' && version !== STATUS_VERSION
      ? `${url} is a controller of another version (status ${version}): use the same version of escapement for both`
      : `${url} is not a controller: it answers ${JSON.stringify(body.slice(0, LONGEST_QUOTE))} to GET /status: ${ADVICE}`;
  throw new EscapementError('E_SERVER', what);
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

function get(url: string, { token, trust }: StatusAccess): Promise<Answer> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  const send = url.startsWith('https:') ? getOverTls : getPlain;
  return new Promise<Answer>((resolve, reject) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const request = send(new URL('/status', url), { ...trust, agent: false, headers, signal }, (response) =>
      bodyOf(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject),
    );
    request.on('error', reject);
  }).catch((error: Error) => {
    const { reason, advice } = explained(error);
    const hint = protocolHint(url, reason);
    throw new EscapementError('E_SERVER', `${url} cannot be reached (${reason}): ${advice}${hint}`);
  });
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  let body = '';
  for await (const text of response.setEncoding('utf8')) {
    body += text;
    if (body.length > MOST_BYTES) throw new Error('the answer is too long for a status');
  }
  return body;
}

/** Codes of a certificate that is not believed, such as DEPTH_ZERO_SELF_SIGNED_CERT and CERT_HAS_EXPIRED. */
const CERTIFICATE = /CERT|ISSUER|SIGNATURE/;

function explained({ name, message, code = '' }: Error & { readonly code?: string }) {
  if (name === 'AbortError') return { reason: 'no answer in time', advice: ADVICE };
  if (CERTIFICATE.test(code)) return { reason: message, advice: 'name its authority with --ca' };
  return { reason: code || message, advice: ADVICE };
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
