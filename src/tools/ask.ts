import { get as getPlain, type Agent as PlainAgent } from 'node:http';
import { get as getOverTls } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import { monotonicNs } from '../base/clock/clock.js';
import { protocolHint } from '../base/protocol-hint.js';
import { MIB } from '../base/units.js';

/** Token that a process requires (null: none), and trust in its certificate. */
export interface Access {
  readonly token: string | null;
  readonly trust: Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized'>;
}

export const OPEN: Access = { token: null, trust: {} };

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly sentNs: number;
  /** Arrival of the response head. */
  readonly receivedNs: number;
}

interface AskOptions {
  /** Keeps the connection open; default: a new one. */
  readonly agent?: PlainAgent;
  /** Ends the wait early. */
  readonly signal?: AbortSignal;
}

const TIMEOUT_MS = 3000;
const MOST_BYTES = 16 * MIB;

/** Answer of a metrics port to GET. Rejects with the reason, and with the system's `code` if there is one. */
export function ask(
  url: string,
  { token, trust }: Access,
  { agent, signal }: AskOptions = {},
): Promise<Answer> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  const signals = [AbortSignal.timeout(TIMEOUT_MS), ...(signal === undefined ? [] : [signal])];
  const options = { ...trust, headers, agent: agent ?? false, signal: AbortSignal.any(signals) };
  const get = url.startsWith('https:') ? getOverTls : getPlain;
  return new Promise<Answer>((resolve, reject) => {
    const sentNs = monotonicNs();
    const request = get(url, options, async (response) => {
      const receivedNs = monotonicNs();
      let body = '';
      try {
        for await (const text of response.setEncoding('utf8')) {
          body += text;
          if (body.length > MOST_BYTES) throw new Error('the answer is too long');
        }
        resolve({ status: response.statusCode ?? 0, body, sentNs, receivedNs });
      } catch (error) {
        reject(error);
      }
    });
    request.on('error', reject);
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.name === 'AbortError') error.message = `no answer in ${TIMEOUT_MS / 1000} s`;
    // Several addresses of one name have failed.
    if (error.message === '') error.message = error.code ?? 'no answer';
    error.message += protocolHint(url, error.message);
    throw error;
  });
}

/** Value of a JSON text; null if it is malformed. */
export function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
