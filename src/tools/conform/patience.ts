import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpAnswer } from './wire/http-answer.js';
import type { Headers, HttpClient } from './wire/http-client.js';

/** Answers that say "not now" are asked for again so often: a busy server breaks no rule. */
const TRIES = 6;
const PAUSE_MS = 250;
const BUSY: readonly number[] = [429, 503, 504];
/** What is asked for again may take so long, if the server lets its clients say so: its own objective may be short. */
export const PATIENT_TIMEOUT_US = 30_000_000;

/**
 * Asks until the server is not busy. The first time as it is, then with a timeout of the request's own; where the server
 * does not take that, without. `isAgain`: with the timeout.
 */
export async function patiently<A>(
  ask: (isAgain: boolean) => Promise<A>,
  isBusy: (answer: A) => boolean,
  isRefused: (answer: A) => boolean,
): Promise<A> {
  let mayExtend = true;
  for (let tries = 1; ; tries++) {
    let answer = await ask(tries > 1 && mayExtend);
    if (tries > 1 && mayExtend && isRefused(answer)) {
      mayExtend = false;
      answer = await ask(false);
    }
    if (tries === TRIES || !isBusy(answer)) return answer;
    await sleep(PAUSE_MS * tries);
  }
}

/** An inference over HTTP, again if the server was busy. */
export function postPatiently(
  http: HttpClient,
  path: string,
  body: unknown,
  headers: Headers = {},
): Promise<HttpAnswer> {
  return patiently(
    (isAgain) => http.post(`${path}/infer`, isAgain ? patientBody(body) : body, headers),
    ({ status }) => BUSY.includes(status),
    ({ status }) => status === 400,
  );
}

/** Bytes, and what says itself how long it may take, stay as they are. */
function patientBody(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || body instanceof Uint8Array) return body;
  const { parameters = {} } = body as { readonly parameters?: object };
  return { ...body, parameters: { timeout: PATIENT_TIMEOUT_US, ...parameters } };
}
