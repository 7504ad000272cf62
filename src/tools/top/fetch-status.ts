import { EscapementError } from '../../base/errors.js';
import {
  type ClusterStatus,
  STATUS_VERSION,
  statusSchema,
} from '../../live/observe/status/cluster-status.js';

const ADVICE = 'pass the metrics port of a controller (8002 unless --metrics-port changes it)';
/** What takes longer than this counts as no answer. */
const TIMEOUT_MS = 3000;
const LONGEST_QUOTE = 60;

/** Asks a controller how it is, with its token if it asks for one. Throws `E_SERVER` where there is none, or something else. */
export async function fetchStatus(url: string, token: string | null = null): Promise<ClusterStatus> {
  const { status, body } = await get(url, token);
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

async function get(url: string, token: string | null): Promise<{ status: number; body: string }> {
  try {
    const response = await fetch(new URL('/status', url), {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
    });
    return { status: response.status, body: await response.text() };
  } catch (error) {
    throw new EscapementError('E_SERVER', `${url} cannot be reached (${reasonOf(error)}): ${ADVICE}`);
  }
}

/** `fetch` itself says only that it failed. */
function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: { code?: string; message?: string } };
  if (name === 'TimeoutError') return 'no answer in time';
  return cause?.code ?? cause?.message ?? message;
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
