import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { monotonicNs } from '../../../src/base/clock/clock.js';
import { tempDir } from '../../cli/run-cli.js';
import { echoModel, FakeService } from './fake-service.js';
import { openGrpc, openHttp, tensor } from './fixtures.js';
import { serializeInfer } from './grpc-client.js';

const MLP = echoModel('mlp', true, [['x', 'FP32', [4]]]);
const BODY = JSON.stringify({ inputs: [tensor('x', 'FP32', [1, 4], [1, 2, 3, 4])] });
const HEAD = `POST /v2/models/mlp/infer HTTP/1.1\r\nhost: x\r\ncontent-length: ${BODY.length}\r\n\r\n`;
const MS = 1_000_000;
/** A stamp may be that of the turn before. */
const SLACK_NS = 1000 * MS;

describe('the arrival of a request', () => {
  it('is when its headers came, however long its body takes', async () => {
    const service = new FakeService([MLP]);
    const { port } = await openHttp(service);
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    const sentNs = monotonicNs();
    socket.write(HEAD);
    await turns();
    const readNs = monotonicNs();
    socket.write(BODY);
    await once(socket, 'data');
    socket.destroy();
    expect(service.requests[0].arrivalNs!).toBeGreaterThan(sentNs - SLACK_NS);
    expect(service.requests[0].arrivalNs!).toBeLessThan(readNs);
  });

  it.each([0, 1])(
    'is when the first byte came, however slow its headers are, after %d others',
    async (before) => {
      const service = new FakeService([MLP]);
      const { port } = await openHttp(service);
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      for (let i = 0; i < before; i++) {
        socket.write(HEAD + BODY);
        await once(socket, 'data');
      }
      const idleNs = monotonicNs();
      await sleep(300);
      socket.write(HEAD.slice(0, 9));
      await turns();
      const readNs = monotonicNs();
      for (const part of [HEAD.slice(9, 40), HEAD.slice(40) + BODY]) {
        socket.write(part);
        await turns();
      }
      await expect.poll(() => service.requests.length).toBeGreaterThan(before);
      socket.destroy();
      const arrivalNs = service.requests[before].arrivalNs!;
      expect(arrivalNs).toBeGreaterThan(idleNs);
      expect(arrivalNs).toBeLessThan(readNs);
    },
  );

  it('is before the wait for a server that was busy with others', async () => {
    const service = new FakeService([MLP]);
    const { port } = await openHttp(service);
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    await sleep(20);
    socket.write(HEAD + BODY);
    block(400);
    const overNs = monotonicNs();
    await once(socket, 'data');
    socket.destroy();
    expect(service.requests[0].arrivalNs!).toBeLessThan(overNs - 100 * MS);
  });

  it('is so also on a connection that was not accepted yet', async () => {
    const service = new FakeService([MLP]);
    const { port } = await openHttp(service);
    const message = JSON.stringify(HEAD + BODY);
    const sent = join(tempDir(), 'sent');
    const client = spawn(process.execPath, [
      '-e',
      `const socket = require('net').connect(${port}, '127.0.0.1', () =>
        socket.write(${message}, () => require('fs').writeFileSync(${JSON.stringify(sent)}, '')));
      socket.on('data', () => socket.destroy());`,
    ]);
    while (!existsSync(sent)) block(1);
    block(400);
    const overNs = monotonicNs();
    await once(client, 'exit');
    expect(service.requests[0].arrivalNs!).toBeLessThan(overNs - 100 * MS);
  });

  it('is not moved by a wait that was over before', async () => {
    const service = new FakeService([MLP]);
    const { http } = await openHttp(service);
    await http.post('/v2/models/mlp/infer', BODY);
    block(300);
    const overNs = monotonicNs();
    await sleep(100);
    await http.post('/v2/models/mlp/infer', BODY);
    expect(service.requests[1].arrivalNs!).toBeGreaterThan(overNs);
  });

  it('is when the headers came over gRPC, too', async () => {
    const service = new FakeService([MLP]);
    const { port } = await openGrpc(service);
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    await once(session, 'remoteSettings');
    const sentNs = monotonicNs();
    const stream = session.request({
      ':method': 'POST',
      ':path': '/inference.GRPCInferenceService/ModelInfer',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    await turns();
    const readNs = monotonicNs();
    const message = serializeInfer({
      model_name: 'mlp',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 4] }],
      raw_input_contents: [Buffer.from(Float32Array.of(1, 2, 3, 4).buffer)],
    });
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    stream.end(Buffer.concat([prefix, message]));
    await once(stream, 'response');
    session.destroy();
    expect(service.requests[0].arrivalNs!).toBeGreaterThan(sentNs - SLACK_NS);
    expect(service.requests[0].arrivalNs!).toBeLessThan(readNs);
    expect(service.requests[0].sloNs).toBe(60_000 * MS);
  });
});

/** In which all that was sent is read. */
async function turns(): Promise<void> {
  for (let i = 0; i < 100; i++) await new Promise((resolve) => setTimeout(resolve, 1));
}

function block(ms: number): void {
  const untilNs = monotonicNs() + ms * MS;
  while (monotonicNs() < untilNs);
}
