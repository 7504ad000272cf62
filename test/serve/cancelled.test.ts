import { connect as connectHttp2, constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { REQUEST_IN_ACTION } from '../../src/core/request.js';
import { serializeInfer } from '../live/frontend/grpc-client.js';
import { body, expectReplay, type Running, serve, simulated, smallModels, until } from './fixtures.js';

const HOUR_MS = 3_600_000;

/** A server whose GPU is busy with a request that takes an hour. All others are for another model, and wait. */
async function busyServer(): Promise<Running> {
  const models = [...smallModels(1, 1, [HOUR_MS, HOUR_MS, HOUR_MS]), ...smallModels(2, 1).slice(1)];
  const running = await serve({ devices: simulated(1, 1), models }, [
    'slo=2h',
    'policy={kind: fifo, maxDelay: 0s}',
  ]);
  const client = ask(running, 0);
  const requests = running.server.controller?.core.requests;
  await until(() => requests?.state[0] === REQUEST_IN_ACTION);
  leave(client);
  return running;
}

function ask({ server }: Running, model: number, rows = 1): Socket {
  const socket = connect({ port: server.http?.port as number, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  const text = JSON.stringify(body(rows));
  socket.write(
    `POST /v2/models/model${model}/infer HTTP/1.1\r\nhost: x\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
  );
  return socket;
}

/** As clients do whose patience is over. */
function leave(socket: Socket): void {
  socket.end();
  socket.resume();
}

const waiting = ({ server }: Running) => server.controller?.core.requests.size;

async function counted({ metrics }: Running, outcome: string): Promise<number> {
  const { text } = await metrics.get('/metrics');
  return Number(
    new RegExp(`^escapement_requests_total\\{[^}]*outcome="${outcome}"[^}]*\\} (\\d+)$`, 'm').exec(
      text,
    )?.[1] ?? 0,
  );
}

it('runs the next request in place of twenty whose clients have gone, however they went', async () => {
  const running = await busyServer();
  const { server, http, machine, metrics, journal } = running;
  // They send and close at once.
  for (let i = 0; i < 8; i++) leave(ask(running, 1));
  await until(async () => (await counted(running, 'cancelled')) === 8);
  const resets = Array.from({ length: 4 }, () => ask(running, 1));
  const grpc = connectHttp2(`http://127.0.0.1:${server.grpc?.port}`);
  const other = connectHttp2(`http://127.0.0.1:${server.grpc?.port}`);
  onTestFinished(() => grpc.destroy());
  const calls = [grpc, grpc, grpc, grpc, other, other].map((session) => {
    const path = '/inference.GRPCInferenceService/ModelInfer';
    const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
    const stream = session.request(headers).on('error', () => {});
    const input = { name: 'input', datatype: 'FP32', shape: [1, 2], contents: { fp32_contents: [1, 2] } };
    const message = serializeInfer({ model_name: 'model1', inputs: [input] });
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    stream.end(Buffer.concat([prefix, message]));
    return stream;
  });
  const batch = ask(running, 1, 2);
  await until(() => waiting(running) === 1 + 4 + 6 + 2);
  for (const socket of resets) socket.resetAndDestroy();
  for (const stream of calls.slice(0, 4)) stream.close(constants.NGHTTP2_CANCEL);
  other.destroy();
  leave(batch);
  await until(() => waiting(running) === 1);
  expect(await counted(running, 'cancelled')).toBe(20);

  const next = http.post('/v2/models/model1/infer', body());
  await until(() => waiting(running) === 2);
  // What is under way for a client that has gone is not tried again, either.
  void machine.executors[0].threads[0].terminate();
  expect((await next).status).toBe(200);
  expect([await counted(running, 'ok'), await counted(running, 'cancelled')]).toEqual([1, 21]);
  expect((await metrics.get('/metrics')).text).toMatch(
    /^escapement_actions_total\{[^}]*action="INFER"[^}]*status="ok"[^}]*\} 1$/m,
  );
  await server.close();
  await expectReplay(journal, 22);
});
