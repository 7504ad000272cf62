import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { accessToHeaders } from '../../../src/live/wire/hello.js';
import {
  LEASE_MESSAGES,
  MAX_REGISTRATION_BYTES,
  REGISTRATION_SERVICE,
  type RegistrationMessage,
  type WireLease,
} from '../../../src/live/wire/protocol.js';
import { StreamCall } from '../../../src/live/wire/stream-call.js';
import { until } from '../../cli/server-process.js';
import { JoiningRig } from './joining-rig.js';
import { TOKEN } from './rig.js';

it('strangers, false addresses and floods of registrations cost no request and no worker', {
  timeout: 300_000,
}, async () => {
  const rig = new JoiningRig();
  await rig.startController();
  const worker = await rig.startWorker();
  const { port: workerPort } = await worker.ready();
  await until(async () => (await rig.health('ready')) === '{"ready":true}');
  const clients = rig.clients();
  await clients.someMore(30);
  const descriptors = rig.descriptors();
  const stranger = await rig.startWorker('another token');
  await until(() => stranger.stderr.includes('the token is not the one that this controller asks for'));
  for (const garbage of ['GET / HTTP/1.1\r\n\r\n', '\0'.repeat(100_000)]) {
    const socket = connect(rig.registrationPort(), '127.0.0.1', () => socket.end(garbage));
    socket.on('error', () => {});
    await new Promise((resolve) => socket.resume().once('close', resolve));
  }
  // The address of the one that serves, under another name; then two hundred that do not answer.
  const problems = await Promise.all(
    [workerPort as number, ...Array.from({ length: 200 }, (_, i) => 20_000 + i)].map((port) =>
      registerFalsely(rig.registrationPort(), port),
    ),
  );
  expect(problems[0]).toBe('another worker is connected at this address');
  await until(() => rig.said(/^worker .* is not accepted: no worker answers at/) > 0);
  await clients.someMore(50);
  // Those leases are not renewed.
  await rig.startWorker();
  await rig.metric('escapement_gpu_up', 2);
  await clients.someMore(30);
  await rig.judge(clients);
  await until(() => rig.descriptors() < descriptors + 20);
  expect(rig.said(/^worker \S+ has joined/)).toBe(2);
  expect(rig.said('has left')).toBe(0);
});

/** Registers a worker that is not there, once. Resolves with what the controller has against it. */
function registerFalsely(controller: number, port: number): Promise<string> {
  return new Promise((heard) => {
    const stream = new StreamCall<RegistrationMessage, WireLease>({
      ...{ address: `127.0.0.1:${controller}`, tls: undefined, peer: 'controller' },
      method: REGISTRATION_SERVICE.Register,
      headers: accessToHeaders(TOKEN),
      maxMessageBytes: MAX_REGISTRATION_BYTES,
      decode: (bytes) => LEASE_MESSAGES.decode(bytes),
      receive: ({ problem }) => {
        heard(problem);
        stream.cancel('it was heard');
      },
      ended: () => heard('the stream ended'),
    });
    onTestFinished(() => stream.cancel('the test is over'));
    stream.write({ body: 'register', address: '', port, instance: `made-up-${port}` });
  });
}
