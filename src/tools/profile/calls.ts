import { monotonicNs } from '../../base/clock/clock.js';
import { EscapementError } from '../../base/errors.js';
import { OUTCOME_OK, type Outcome } from '../../core/request.js';
import type { Reply } from '../../load/reply.js';
import type { Done, LoadTarget } from '../../load/target.js';

/** Timeout for one answer: longer than any SLO of a batch. */
const PATIENCE_MS = 60_000;
/** SLO sent to servers that know SLOs: too long to matter. */
const SLO_NS = PATIENCE_MS * 1e6;

/** An answer of a server, and its latency. */
interface TimedAnswer {
  readonly ns: number;
  readonly outcome: Outcome;
  readonly reply: Reply;
}

/** Latency of a call without work: network and server overhead. Throws `E_SERVER`. */
export async function timePing(target: LoadTarget): Promise<number> {
  const { ns } = await call(target, 'whether it is alive', (done) => target.ping?.(done));
  return ns;
}

/**
 * Sends one request to a model of the target; `length`: of its inputs, 0 if all have the same. Throws `E_SERVER`
 * without an answer; `what`: the request, for people.
 */
export function sendOne(
  target: LoadTarget,
  model: number,
  length: number,
  what: string,
): Promise<TimedAnswer> {
  return call(target, what, (done) => target.send({ model, sloNs: SLO_NS, length }, done));
}

/** Sends one request whose answer must be a success, or throws `E_SERVER`. */
export async function timeOne(
  target: LoadTarget,
  model: number,
  length: number,
  what: string,
): Promise<number> {
  const { ns, outcome, reply } = await sendOne(target, model, length, what);
  if (outcome === OUTCOME_OK) return ns;
  throw refused(target, what, reply);
}

/** Error for a server that answers with a failure. */
export function refused({ name }: LoadTarget, what: string, { status, message }: Reply): EscapementError {
  const said = message === '' ? '' : ` (${message})`;
  return new EscapementError('E_SERVER', `${name} answers ${status}${said} to ${what}${hintOf(status)}`);
}

/** Advice on a failure; empty if the server's message has to suffice. */
function hintOf(status: string): string {
  if (/429|RESOURCE_EXHAUSTED/.test(status))
    return ': it is overloaded, or limits its clients; measure when it is idle';
  return /5\d\d|INTERNAL|UNKNOWN|UNAVAILABLE/.test(status) ? ': see its log' : '';
}

function call(target: LoadTarget, what: string, send: (done: Done) => void): Promise<TimedAnswer> {
  return new Promise((resolve, reject) => {
    const fail = (problem: string) => reject(new EscapementError('E_SERVER', `${target.name} ${problem}`));
    const timer = setTimeout(() => fail(`has not answered ${what} in ${PATIENCE_MS / 1000} s`), PATIENCE_MS);
    const beginNs = monotonicNs();
    send((outcome, reply = { status: '', message: '' }) => {
      const ns = monotonicNs() - beginNs;
      clearTimeout(timer);
      if (reply.lack === undefined) resolve({ ns, outcome, reply });
      else fail(`did not answer ${what}: ${reply.message || 'the connection broke'}`);
    });
  });
}
