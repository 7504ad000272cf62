import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ActionMessage } from '../../../../src/live/messages.js';
import { Numbering } from '../../../../src/live/wire/framing.js';
import { helloToHeaders } from '../../../../src/live/wire/hello.js';
import {
  type ControllerMessage,
  PROTOCOL_VERSION,
  WORKER_MESSAGES,
  WORKER_SERVICE,
} from '../../../../src/live/wire/protocol.js';
import { serveMachine } from '../../../../src/live/worker/endpoint/worker-endpoint.js';
import { FakeMachine, resultOf } from '../../controller/link/fake-machine.js';
import { connectTo, infer, load, pause, serve } from '../../controller/link/fixtures.js';

const TAKE: ControllerMessage = { body: 'take', term: 1 };
const QUIESCE: ControllerMessage = { body: 'ask', id: 1, question: { what: 'quiesce' } };
const ACTIONS: ControllerMessage = { body: 'actions', actions: [infer(1)] };
const BYE: ControllerMessage = { body: 'bye' };
const HELLO = { token: '', controller: 'test', maxMessageBytes: 1e6 };

describe('worker server', () => {
  it('says plainly when certificate and key are unusable', async () => {
    const tls = { cert: Buffer.from('no'), key: Buffer.from('pem') };
    await expect(serveMachine(new FakeMachine(), { port: 0, tls })).rejects.toMatchObject({ code: 'E_TLS' });
  });

  it('tells a controller of another version what to do', async () => {
    const { server } = await serve();
    const headers = helloToHeaders(HELLO);
    headers.set('escapement-version', '77');
    const { code, details } = await endOf(server.port, [], { headers });
    expect(code).toBe(status.FAILED_PRECONDITION);
    expect(details).toBe(
      `the controller speaks version 77 of the protocol, this worker ${PROTOCOL_VERSION}: install the same escapement on both`,
    );
  });

  it('lets in no client with another token', async () => {
    const { machine, server } = await serve({ token: 'secret' });
    for (const token of ['', 'Secret', 'secret ', 'secre']) {
      const { code } = await endOf(server.port, [], { headers: helloToHeaders({ ...HELLO, token }) });
      expect(code).toBe(status.UNAUTHENTICATED);
    }
    expect(machine.quiesces).toBe(0);
  });

  it('lets in no client that does not say it is a controller', async () => {
    const { machine, server } = await serve();
    const { code } = await endOf(server.port, [ACTIONS], { headers: new Metadata() });
    expect(code).toBe(status.FAILED_PRECONDITION);
    expect(machine.submitted).toEqual([]);
  });

  it('drops actions that come before it is idle', async () => {
    const { machine, server } = await serve();
    await endOf(server.port, [TAKE, ACTIONS, BYE]);
    expect(machine.submitted).toEqual([]);
  });

  it.each<[string, ControllerMessage]>([
    ['actions', ACTIONS],
    ['quiesce', QUIESCE],
    ['changeModel', { body: 'ask', id: 1, question: { what: 'changeModel', index: 0, reference: null } }],
  ])('takes no orders from who does not drive it: %s', async (what, order) => {
    const { machine, server } = await serve();
    const driver = connectTo(server.port);
    await driver.events.next('up');
    expect(await endOf(server.port, [order])).toEqual({
      code: status.INVALID_ARGUMENT,
      details: `${what} of a controller that does not drive this worker`,
    });
    expect(machine).toMatchObject({ quiesces: 1, submitted: [], changes: [] });
    driver.worker.send([infer(2)]);
    expect((await driver.events.next('result')).result.id).toBe(2);
  });

  it('frees the lease of a driver that says nothing, and does not hear it any more', async () => {
    const lines: string[] = [];
    const { machine, server } = await serve({ silenceMs: 200, log: (line) => lines.push(line) });
    const ended = endOf(server.port, [TAKE, QUIESCE]);
    while (machine.quiesces === 0) await pause();
    const next = connectTo(server.port, { heartbeatMs: 20 });
    expect(await ended).toEqual({
      code: status.ABORTED,
      details: 'the controller has said nothing for 200 ms',
    });
    await next.events.next('up');
    expect(next.events.drivers.at(-1)).toBe('this');
  });

  it.each([
    ['GPU', { gpu: 2 }, 'there is no GPU 2, only 2'],
    ['GPU', { gpu: -1 }, 'there is no GPU -1'],
    ['model', { model: 2 }, 'there is no model 2'],
    ['kind', { kind: 4 }, 'unknown kind 4'],
    ['batch size', { batchIndex: 3 }, 'echo has no batch size 3'],
    ['count', { count: 0 }, '0 requests in a batch of 1'],
    ['count', { count: 2 }, '2 requests in a batch of 1'],
    ['number of inputs', { inputs: [] }, '0 inputs, echo has 2'],
    [
      'size of an input',
      { inputs: [new Uint8Array(3), new Uint8Array(3)] },
      'input größe has 3 bytes, not 2',
    ],
  ])('ends a stream with an action of an impossible %s', async (_what, wrong, words) => {
    const { machine, server } = await serve();
    const { code, details } = await endOf(server.port, [TAKE, QUIESCE], {
      afterState: { body: 'actions', actions: [load(1), { ...infer(2), ...wrong } as ActionMessage] },
    });
    expect(code).toBe(status.INVALID_ARGUMENT);
    expect(details).toContain(words);
    expect(machine.submitted).toEqual([]);
  });

  it('survives messages that are none, and too large ones', async () => {
    const { server } = await serve({ maxMessageBytes: 100_000 });
    const garbage = [Buffer.from([0xff, 0xff, 0xff, 0xff]), Buffer.from([0x0a, 0x7f, 1]), randomBytes(1000)];
    for (const bytes of garbage) expect((await endOf(server.port, [bytes])).code).not.toBe(status.OK);
    const { code } = await endOf(server.port, [Buffer.alloc(200_000)]);
    expect(code).toBe(status.RESOURCE_EXHAUSTED);
    await connectTo(server.port).events.next('up');
  });

  it('drains when it is closed: what runs is reported, what comes is dropped', async () => {
    const { machine, server } = await serve();
    const { worker, events } = connectTo(server.port);
    await events.next('up');
    machine.answering = false;
    worker.send([infer(1)]);
    while (machine.submitted.length === 0) await pause();
    const idle = machine.hold();
    const closed = server.close();
    worker.send([infer(2)]);
    machine.report([resultOf(infer(1))]);
    idle();
    expect((await events.next('result')).result.id).toBe(1);
    expect((await events.next('down')).reason).toBe('the worker shuts down');
    await closed;
    expect(machine.submitted.length).toBe(1);
  });

  it('closes without waiting for idle connections', async () => {
    const { server } = await serve();
    const socket = await openIdle(server.port);
    await expect(server.close()).resolves.toBeUndefined();
    socket.destroy();
  });

  it('makes the machine idle for a new controller only when it is for the one before', async () => {
    const { machine, server } = await serve();
    const idle = machine.hold();
    const first = connectTo(server.port);
    while (machine.quiesces === 0) await pause();
    await first.worker.close();
    const second = connectTo(server.port);
    while (second.events.drivers.at(-1) !== 'this') await pause();
    // Time for a second call to come too early.
    for (let i = 0; i < 10; i++) await pause();
    idle();
    await second.events.next('up');
    expect(machine.quiesces).toBe(2);
    expect(machine.quiescesAtOnce).toBe(1);
  });
});

/** How a stream ends on which only these messages are sent; a Buffer goes as it is. */
function endOf(
  port: number,
  messages: readonly (ControllerMessage | Buffer)[],
  {
    afterState,
    headers = helloToHeaders(HELLO),
    heard = [],
  }: { afterState?: ControllerMessage; headers?: Metadata; heard?: string[] } = {},
): Promise<{ code: number; details: string }> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  onTestFinished(() => client.close());
  const { path, requestSerialize, responseDeserialize } = WORKER_SERVICE.Drive;
  const sent = new Numbering();
  const serialize = (message: ControllerMessage | Buffer) =>
    Buffer.isBuffer(message) ? message : requestSerialize(sent.number(message));
  const call = client.makeBidiStreamRequest(path, serialize, responseDeserialize, headers);
  call.on('data', (bytes: Buffer) => {
    const message = WORKER_MESSAGES.decode(bytes);
    heard.push(message.body);
    if (message.body === 'answer' && afterState !== undefined) call.write(afterState);
  });
  for (const message of messages) call.write(message);
  return new Promise((resolve) => {
    call.on('error', ({ code, details }: ServiceError) => resolve({ code, details }));
    call.on('status', ({ code, details }) => resolve({ code, details }));
  });
}

function openIdle(port: number): Promise<import('node:net').Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
  });
}
