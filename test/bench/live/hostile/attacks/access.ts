import { callOnce } from '../grpc-client.js';
import { field, framed } from '../protobuf.js';
import { open, post } from '../sockets.js';
import { repeat, sleepUntil, type Tally } from '../tally.js';
import { type Attack, SMALL, type Target } from '../target.js';
import { submessageBomb } from './grpc.js';

/** Clients without a token, at TLS, on the worker's port and on that for metrics. */

const DRIVE = '/escapement.worker.v1.Worker/Drive';
const MEGA = 1_000_000;

export const ACCESS_ATTACKS: readonly Attack[] = [
  { name: 'every route without the token', setting: 'token', run: everyRoute },
  { name: '60 MB of JSON without the token', setting: 'token', run: bodiesWithoutToken },
  { name: 'paths out of the repository', setting: 'plain', run: paths },
  { name: 'metrics read without a pause', setting: 'plain', run: metrics },
  { name: '2,000 silent TLS handshakes', setting: 'tls', run: silentHandshakes },
  { name: 'TLS handshakes without a pause', setting: 'tls', run: handshakes },
  { name: 'worker: 64 kB gzip of empty messages', setting: 'cluster', run: workerBomb },
  { name: 'worker: 64 kB gzip of empty messages', setting: 'cluster-token', run: workerBomb },
  { name: 'worker: actions by the million', setting: 'cluster', run: workerActions },
  { name: 'worker: hello with a wrong token', setting: 'cluster-token', run: workerHellos },
  { name: 'worker: 1,000 silent connections', setting: 'cluster-token', run: workerSilence },
];

/** Counts apart what needs no token by its nature, so that an open route stands out. */
async function everyRoute(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const body = Buffer.from('{}');
  const model = `/v2/models/${SMALL.name}`;
  const repository = `/v2/repository/models/${SMALL.name}`;
  const posts = [`${model}/infer`, '/v2/repository/index', `${repository}/load`, `${repository}/unload`];
  const variants = [
    `${model}//infer`,
    `/v2/../v2/models/${SMALL.name}/infer`,
    `${model}/infer?a=b`,
    `${model}/infer/`,
  ];
  const gets = [
    '/v2',
    '/v2/models',
    model,
    `${model}/ready`,
    `${model}/config`,
    `${model}/stats`,
    '/v2/models/stats',
  ];
  const methods = ['ServerMetadata', 'ModelMetadata', 'ModelInfer', 'ModelStreamInfer', 'ModelConfig'];
  const more = ['ModelStatistics', 'RepositoryIndex', 'RepositoryModelLoad', 'RepositoryModelUnload'];
  await repeat(1, untilMs, async () => {
    for (const path of [...posts, ...variants]) await post(target, tally, { path, body });
    for (const path of gets) await post(target, tally, { path, body: Buffer.alloc(0), method: 'GET' });
    for (const method of [...methods, ...more]) {
      const path = `/inference.GRPCInferenceService/${method}`;
      await callOnce(target.grpc, target.tls, tally, { path, body: framed(field(1, SMALL.name)) });
    }
    await post(target, tally, { path: '/recording/start?mode=all', body, port: target.metrics });
  });
}

function bodiesWithoutToken(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const body = Buffer.alloc(60 * MEGA, '[');
  const path = `/v2/models/${SMALL.name}/infer`;
  return repeat(4, untilMs, () => post(target, tally, { path, body }));
}

async function paths(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const names = ['..', '%2e%2e', '..%2f..%2fetc', 'small%00', '%ff', '__proto__', 'a'.repeat(10_000)];
  await repeat(4, untilMs, async (round) => {
    const name = names[round % names.length];
    for (const path of [`/v2/models/${name}`, `/v2/models/${SMALL.name}/versions/${name}`]) {
      await post(target, tally, { path, body: Buffer.alloc(0), method: 'GET' });
    }
    await post(target, tally, { path: `/v2/repository/models/${name}/load`, body: Buffer.from('{}') });
  });
}

function metrics(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const read = { path: '/metrics', body: Buffer.alloc(0), method: 'GET', port: target.metrics };
  return repeat(20, untilMs, () => post({ ...target, tls: false }, tally, read));
}

async function silentHandshakes(target: Target, tally: Tally, untilMs: number): Promise<void> {
  for (let i = 0; i < 2000 && performance.now() < untilMs; i++) {
    const socket = await open(i % 2 === 0 ? target.http : target.grpc, tally);
    socket?.on('close', () => tally.add('closed'));
    // Half of them begin one.
    if (i % 4 < 2) socket?.write(Buffer.from([22, 3, 1, 2, 0, 1]));
  }
  await sleepUntil(untilMs);
}

function handshakes(target: Target, tally: Tally, untilMs: number): Promise<void> {
  return repeat(8, untilMs, async (round) => {
    const socket = await open(round % 2 === 0 ? target.http : target.grpc, tally, true);
    if (socket !== null) tally.add('handshake');
    socket?.destroy();
  });
}

/** ControllerMessage { actions { actions {} … } } */
function workerBomb(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const body = framed(submessageBomb(1, [3]), true);
  const headers = { 'grpc-encoding': 'gzip' };
  return repeat(2, untilMs, () =>
    callOnce(target.worker, false, tally, { path: DRIVE, body, headers, end: false }),
  );
}

/** The same without compression, first and after a good Hello that takes nothing over. */
function workerActions(target: Target, tally: Tally, untilMs: number): Promise<void> {
  const actions = framed(field(3, Buffer.alloc(8 * MEGA, Buffer.from([0x0a, 0]))));
  return repeat(2, untilMs, (round) => {
    const hello = framed(field(1, Buffer.from([0x08, 4 + (round % 2)])));
    return callOnce(target.worker, false, tally, {
      path: DRIVE,
      body: Buffer.concat(round % 2 === 0 ? [actions] : [hello, actions]),
      end: false,
    });
  });
}

/** Each wants to take the worker over. */
function workerHellos(target: Target, tally: Tally, untilMs: number): Promise<void> {
  return repeat(8, untilMs, (round) => {
    const hello = Buffer.concat([
      Buffer.from([0x08, 4 + (round % 2)]),
      field(2, 'wrong'),
      Buffer.from([0x18, 1]),
    ]);
    return callOnce(target.worker, false, tally, { path: DRIVE, body: framed(field(1, hello)), end: false });
  });
}

async function workerSilence(target: Target, tally: Tally, untilMs: number): Promise<void> {
  for (let i = 0; i < 1000 && performance.now() < untilMs; i++) {
    const socket = await open(target.worker, tally);
    socket?.on('close', () => tally.add('closed'));
    if (i % 2 === 0) socket?.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  }
  await sleepUntil(untilMs);
}
