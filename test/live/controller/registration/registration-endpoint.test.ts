import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Metadata } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { REAL_TIME } from '../../../../src/base/world/real-time.js';
import type { Time } from '../../../../src/base/world/time.js';
import type { Registration } from '../../../../src/live/controller/fleet-worker.js';
import { openRegistration } from '../../../../src/live/controller/registration/registration-endpoint.js';
import type { Registrations } from '../../../../src/live/controller/registration/registrations.js';
import { accessToHeaders } from '../../../../src/live/wire/hello.js';
import type { ServedPort } from '../../../../src/live/wire/listener.js';
import {
  LEASE_MESSAGES,
  MAX_REGISTRATION_BYTES,
  PROTOCOL_VERSION,
  REGISTRATION_SERVICE,
  type RegistrationMessage,
  type WireLease,
  type WireRegistration,
} from '../../../../src/live/wire/protocol.js';
import { StreamCall } from '../../../../src/live/wire/stream-call.js';
import { Registrar } from '../../../../src/live/worker/endpoint/registrar.js';
import { serveMachine } from '../../../../src/live/worker/endpoint/worker-endpoint.js';
import { until } from '../../../cli/server-process.js';
import { FakeMachine } from '../link/fake-machine.js';

/** Registrations that keep what they hear. */
class Heard {
  readonly renewed: Registration[] = [];
  readonly left: Registration[] = [];
  readonly turnedAway: (readonly [string, string, string])[] = [];
  lease: WireLease = { leaseMs: 5000, joined: true, problem: '' };

  renew(registration: Registration): WireLease {
    this.renewed.push(registration);
    return this.lease;
  }

  leave(registration: Registration): void {
    this.left.push(registration);
  }

  turnAway(why: string, host: string, what: string): void {
    this.turnedAway.push([why, host, what]);
  }
}

async function serve(
  token?: string,
  time: Time = REAL_TIME,
): Promise<{ heard: Heard; endpoint: ServedPort }> {
  const heard = new Heard();
  const endpoint = await openRegistration(heard as unknown as Registrations, {
    ...{ host: '127.0.0.1', port: 0, token, time },
  });
  onTestFinished(() => endpoint.close());
  return { heard, endpoint };
}

const HERE: WireRegistration = { address: '', port: 8003, instance: 'one' };

/** A worker that says what the test wants. */
function call(port: number, headers: Metadata) {
  const leases: WireLease[] = [];
  let ended: (reason: string) => void = () => {};
  const end = new Promise<string>((resolve) => {
    ended = resolve;
  });
  const stream = new StreamCall<RegistrationMessage, WireLease>({
    ...{ address: `127.0.0.1:${port}`, tls: undefined, peer: 'controller', headers, ended },
    method: REGISTRATION_SERVICE.Register,
    maxMessageBytes: MAX_REGISTRATION_BYTES,
    decode: (bytes) => LEASE_MESSAGES.decode(bytes),
    receive: (lease) => leases.push(lease),
  });
  onTestFinished(() => stream.cancel('the test is over'));
  const register = (registration: Partial<WireRegistration> = {}) =>
    stream.write({ body: 'register', ...HERE, ...registration });
  return { leases, end, stream, register };
}

function versioned(version: string): Metadata {
  const headers = accessToHeaders('');
  headers.set('escapement-version', version);
  return headers;
}

describe('the port at which workers register', () => {
  it('hears of a worker at the address that it says, or else at the one that it comes from', async () => {
    const { heard, endpoint } = await serve('secret');
    const implied = call(endpoint.port, accessToHeaders('secret'));
    implied.register();
    const said = call(endpoint.port, accessToHeaders('secret'));
    said.register({ address: 'gpu-7.example:9000' });
    await until(() => implied.leases.length === 1 && said.leases.length === 1);
    expect(new Set(heard.renewed)).toEqual(
      new Set([
        { address: '127.0.0.1:8003', instance: 'one', host: '127.0.0.1' },
        { address: 'gpu-7.example:9000', instance: 'one', host: '127.0.0.1' },
      ]),
    );
    expect(said.leases).toMatchObject([heard.lease]);
    await said.stream.close({ body: 'leave' }, 5000);
    expect(heard.left.map(({ address }) => address)).toEqual(['gpu-7.example:9000']);
  });

  it.each<[string, Metadata, string]>([
    ['no token', accessToHeaders(''), 'the token is not the one that this controller asks for'],
    ['another token', accessToHeaders('other'), 'the token is not the one that this controller asks for'],
    ['no headers of ours', new Metadata(), 'its headers are not those of a worker'],
    [
      'another version',
      versioned('77'),
      `the worker speaks version 77 of the protocol, this controller ${PROTOCOL_VERSION}: install the same escapement on both`,
    ],
  ])('refuses a worker with %s, and hears nothing of it', async (_, headers, reason) => {
    const { heard, endpoint } = await serve('secret');
    const { register, end } = call(endpoint.port, headers);
    register();
    expect(await end).toBe(reason);
    expect(heard.renewed).toEqual([]);
    const why = reason.startsWith('the token') ? 'token' : 'protocol';
    expect(heard.turnedAway).toEqual([[why, '127.0.0.1', reason]]);
  });

  it.each<[string, Partial<WireRegistration>, RegExp]>([
    ['no port', { port: 0 }, /^the worker gives no address/],
    ['an address that is none', { address: 'http://a' }, /^the worker gives no address/],
    ['no name', { instance: '' }, /is not understood: instance: /],
    ['a name with other characters', { instance: 'a\nb' }, /is not understood: instance: /],
  ])('ends the stream of a worker with %s', async (_, registration, words) => {
    const { heard, endpoint } = await serve();
    const { register, end } = call(endpoint.port, accessToHeaders(''));
    register(registration);
    expect(await end).toMatch(words);
    expect(heard.renewed).toEqual([]);
  });

  it('ends the stream of a worker that floods it', async () => {
    const { heard, endpoint } = await serve();
    const { register, end } = call(endpoint.port, accessToHeaders(''));
    for (let i = 0; i < 1000; i++) register();
    expect(await end).toBe('the worker registers too often');
    expect(heard.renewed.length).toBeLessThanOrEqual(20);
  });

  it('ends the stream of a worker that says nothing for 5 seconds', async () => {
    const seconds: (() => void)[] = [];
    const pass = () => {
      for (const second of seconds) second();
    };
    const every: Time['every'] = (ms, run) => {
      seconds.push(run);
      return REAL_TIME.every(ms * 1e6, run);
    };
    const { endpoint } = await serve(undefined, { ...REAL_TIME, every });
    const { register, leases, end } = call(endpoint.port, accessToHeaders(''));
    register();
    await until(() => leases.length === 1);
    for (let i = 0; i < 5; i++) pass();
    register();
    await until(() => leases.length === 2);
    for (let i = 0; i < 6; i++) pass();
    expect(await end).toBe('the worker has said nothing for 5 s');
  });
});

async function httpPort(): Promise<number> {
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function workerPort(): Promise<number> {
  const server = await serveMachine(new FakeMachine(), { port: 0 });
  onTestFinished(() => server.close());
  return server.port;
}

describe('a worker', () => {
  const registrar = (port: number, token = '') => {
    const said: string[] = [];
    const own = new Registrar({
      controller: `127.0.0.1:${port}`,
      token,
      registration: HERE,
      log: (line) => said.push(line.replace(`controller 127.0.0.1:${port}: `, '')),
    });
    onTestFinished(() => own.leave());
    return { own, said };
  };

  it('keeps its lease, says how it stands with the controller, and leaves', async () => {
    const { heard, endpoint } = await serve();
    const { own, said } = registrar(endpoint.port);
    await until(() => said.length === 1);
    heard.lease = { leaseMs: 5000, joined: true, problem: 'model x: there is none' };
    await until(() => said.length === 2);
    heard.lease = { leaseMs: 5000, joined: false, problem: '' };
    await until(() => said.length === 3);
    expect(said).toEqual([
      'has added this worker to its cluster',
      'does not use this worker: model x: there is none',
      'no longer has this worker in its cluster',
    ]);
    await own.leave();
    expect(heard.left).toHaveLength(1);
  });

  it.each([
    ['a server of HTTP', httpPort],
    ['a worker', workerPort],
  ])('says that it has the wrong port where %s listens', async (_, open) => {
    const port = await open();
    const { said } = registrar(port);
    await until(() => said.length === 1);
    expect(said).toEqual([
      `nothing takes registrations at 127.0.0.1:${port}: give the port of the controller's --listen`,
    ]);
  });
});
