import { EscapementError } from '../../base/errors.js';
import {
  type ClusterStatus,
  STATUS_VERSION,
  statusSchema,
} from '../../live/observe/status/cluster-status.js';
import { asJson, ask, OPEN } from '../ask.js';

const ADVICE = 'pass the metrics port of a controller (8002 unless --metrics-port changes it)';
const LONGEST_QUOTE = 60;
/** Codes of untrusted certificates, such as DEPTH_ZERO_SELF_SIGNED_CERT and CERT_HAS_EXPIRED. */
const CERTIFICATE = /CERT|ISSUER|SIGNATURE/;

/** State of a controller. Throws `E_SERVER` if there is none, or something else. */
export async function fetchStatus(url: string, access = OPEN, signal?: AbortSignal): Promise<ClusterStatus> {
  const fail = (what: string) => new EscapementError('E_SERVER', `${url} ${what}`);
  const { status, body } = await ask(new URL('/status', url).href, access, signal && { signal }).catch(
    (error: NodeJS.ErrnoException) => {
      const advice = CERTIFICATE.test(error.code ?? '') ? 'name its authority with --ca' : ADVICE;
      throw fail(`cannot be reached (${error.message}): ${advice}`);
    },
  );
  if (status === 401) {
    throw fail(
      access.token === null
        ? 'asks for a token: give its file with --token-file'
        : 'takes another token than that of --token-file',
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
