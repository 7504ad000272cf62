import { callOnce } from '../grpc-client.js';
import { framed } from '../protobuf.js';
import { open, post } from '../sockets.js';
import { repeat, sleepUntil, type Tally } from '../tally.js';
import { type Attack, SMALL, type Target } from '../target.js';
import { submessageBomb } from './grpc.js';

/** Clients without a token, at TLS and on the worker's port. */
export const ACCESS_ATTACKS: readonly Attack[] = [
  { name: '60 MB of JSON without the token', setting: 'token', run: bodiesWithoutToken },
  { name: '2,000 silent TLS handshakes', setting: 'tls', run: silentHandshakes },
  { name: 'worker: 64 kB gzip of empty messages', setting: 'cluster-token', run: workerBomb },
];

function bodiesWithoutToken(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const body = Buffer.alloc(60_000_000 * target.size, '[');
  const path = `/v2/models/${SMALL.name}/infer`;
  return repeat(4, untilMs, () => post(target, tally, { path, body }));
}

async function silentHandshakes(target: Target, tally: Tally, untilMs: number): Promise<void> {
  for (let i = 0; i < 2000 * target.size && performance.now() < untilMs; i++) {
    const socket = await open(i % 2 === 0 ? target.http : target.grpc, tally);
    socket?.on('close', () => tally.add('closed'));
    // Half of them begin one.
    if (i % 4 < 2) socket?.write(Buffer.from([22, 3, 1, 2, 0, 1]));
  }
  await sleepUntil(untilMs);
}

/** ControllerMessage { actions { actions {} … } } */
function workerBomb(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const path = '/escapement.worker.v1.Worker/Drive';
  const body = framed(submessageBomb(target.size, 1, [3]), true);
  const headers = { 'grpc-encoding': 'gzip' };
  return repeat(2, untilMs, () => callOnce(target.worker, false, tally, { path, body, headers, end: false }));
}
