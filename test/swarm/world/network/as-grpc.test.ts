import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Metadata, type ServiceDefinition, status } from '@grpc/grpc-js';
import { beforeAll, describe, expect, it } from 'vitest';
import type { AcceptedStream, Dialed, Network, StreamServer } from '../../../../src/live/wire/network.js';
import { REAL_NETWORK } from '../../../../src/live/wire/real-network.js';
import { Simulation } from '../index.js';

const SERVICE = {
  Talk: {
    path: '/test.Service/Talk',
    requestStream: true,
    responseStream: true,
    requestSerialize: (text: string) => Buffer.from(text),
    requestDeserialize: (bytes: Buffer) => bytes,
    responseSerialize: (text: string) => Buffer.from(text),
    responseDeserialize: (bytes: Buffer) => bytes,
  },
} satisfies ServiceDefinition;
const MOST_BYTES = 1000;

/** A client and a server that talk over one of the two networks, and what each of them has heard. */
interface Talk {
  readonly client: Dialed<string>;
  readonly server: StreamServer;
  readonly calls: readonly AcceptedStream<string>[];
  readonly network: { cut(): void; refused: string };
  readonly dial: (address?: string, path?: string) => void;
}

interface Scenario {
  /** What the server does with a call right away. */
  readonly accepted?: (call: AcceptedStream<string>) => void;
  /** What it does with a message. */
  readonly heard?: (call: AcceptedStream<string>, text: string) => void;
  readonly ended?: (call: AcceptedStream<string>) => void;
  /** Each is done when the one before has had its effects. */
  readonly steps: readonly ((talk: Talk) => void)[];
}

const say =
  (...texts: string[]) =>
  ({ client }: Talk) => {
    for (const text of texts) client.stream.write(text);
  };
const echo = (call: AcceptedStream<string>, text: string) => void call.write(`re ${text}`);
const DEPOSED = { code: status.ABORTED, details: 'deposed' };

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'both talk, the client ends, the server too': {
    heard: echo,
    ended: (call) => void call.end(),
    steps: [say('a', 'b'), ({ client }) => void client.stream.end('last')],
  },
  'the server greets a client that says nothing': {
    accepted: (call) => void call.write('hello'),
    steps: [() => {}],
  },
  'the client hangs up': { heard: echo, steps: [say('a'), ({ client }) => client.hangUp()] },
  'the client hangs up at once': { steps: [({ client }) => client.hangUp()] },
  'the client hangs up after its last word': {
    steps: [say('a'), ({ client }) => void client.stream.end('bye'), ({ client }) => client.hangUp()],
  },
  'the client hangs up when the server has answered its last word': {
    heard: (call, text) => text === 'bye' && call.end(),
    steps: [
      say('a'),
      ({ client }) => {
        client.stream.once('close', () => client.hangUp());
        client.stream.end('bye');
      },
    ],
  },
  'the server refuses': { accepted: (call) => void call.emit('error', DEPOSED), steps: [say('a')] },
  'the server ends it with a status': {
    heard: echo,
    steps: [say('a'), ({ calls: [call] }) => void call.emit('error', DEPOSED), say('b')],
  },
  'the server says something and ends it with a status': {
    steps: [
      say('a'),
      ({ calls: [call] }) => {
        call.write('last');
        call.emit('error', DEPOSED);
      },
    ],
  },
  'the server ends it': { heard: (call) => void call.end(), steps: [say('a')] },
  'the client has ended, the server gives a status': {
    ended: (call) => void call.emit('error', DEPOSED),
    steps: [say('a'), ({ client }) => void client.stream.end('bye')],
  },
  'the connection breaks': {
    accepted: (call) => void call.write('hello'),
    steps: [say('a'), ({ network }) => network.cut()],
  },
  'nothing listens': {
    steps: [({ network, dial }) => dial(network.refused)],
  },
  'there is no such method': { steps: [({ dial }) => dial(undefined, '/test.Service/Sing')] },
  'a message is too large for the server': { steps: [say('a'), say('x'.repeat(MOST_BYTES + 1))] },
  'a message is too large for the client': {
    heard: (call) => {
      for (const text of ['small', 'x'.repeat(MOST_BYTES + 1), 'small again']) call.write(text);
    },
    steps: [say('a')],
  },
  'the server closes': { steps: [say('a'), ({ server }) => void server.close(), () => {}] },
};

/** What each side has heard, in order. */
interface Heard {
  readonly client: string[];
  readonly server: string[];
}

/** The scenario over a network. `rest` lets all effects happen. */
class Stage {
  readonly heard: Heard = { client: [], server: [] };
  private client: Dialed<string> | null = null;
  private readonly calls: AcceptedStream<string>[] = [];
  readonly server: StreamServer;

  constructor(
    private readonly scenario: Scenario,
    serving: Network,
    private readonly calling: Network,
  ) {
    this.server = serving.server({ whose: 'the test', maxMessageBytes: MOST_BYTES, mostConnections: 9 });
    this.server.addService(SERVICE, { Talk: (call: AcceptedStream<string>) => this.accept(call) });
  }

  dial(address: string, path = SERVICE.Talk.path): void {
    const headers = new Metadata();
    headers.set('who', 'test');
    const method = { path, requestSerialize: SERVICE.Talk.requestSerialize };
    const given = { address, tls: undefined, peer: 'worker', maxMessageBytes: MOST_BYTES } as const;
    const client = this.calling.dial({ ...given, method, headers });
    this.client = client;
    const { client: heard } = this.heard;
    client.stream.on('data', (bytes) => heard.push(`data ${bytes}`));
    client.stream.on('error', ({ code, details }) => heard.push(`error ${code} ${masked(details)}`));
    client.stream.on('status', ({ code, details }) => heard.push(`status ${code} ${masked(details)}`));
    client.stream.once('close', () => heard.push('close'));
  }

  talk(network: Talk['network'], address: string): Talk {
    const { calls, server, client } = this;
    if (client === null) throw new Error('dial first');
    return { client, server, calls, network, dial: (to = address, path) => this.dial(to, path) };
  }

  hangUp(): void {
    this.client?.hangUp();
  }

  private accept(call: AcceptedStream<string>): void {
    const { scenario, heard } = this;
    this.server.prove(call.getPeer());
    this.calls.push(call);
    heard.server.push(`call of ${call.metadata.get('who')}`);
    call.on('data', (bytes) => {
      heard.server.push(`data ${bytes}`);
      scenario.heard?.(call, String(bytes));
    });
    call.on('error', ({ message }) => heard.server.push(`error ${message}`));
    call.on('cancelled', () => heard.server.push('cancelled'));
    call.on('end', () => {
      heard.server.push('end');
      scenario.ended?.(call);
    });
    scenario.accepted?.(call);
  }
}

/** Without addresses, which differ. */
function masked(details: string): string {
  return details.replace(/\d+\.\d+\.\d+\.\d+:\d+/, 'ADDRESS').replace(/ \(\d{4}-\d\d-\d\dT[^)]*\)/, '');
}

/** `counts`: for each step, how much the other network let both sides hear until then. */
async function overGrpc(scenario: Scenario, counts: readonly number[]): Promise<Heard> {
  const stage = new Stage(scenario, REAL_NETWORK, REAL_NETWORK);
  const port = await stage.server.listen('127.0.0.1', 0);
  const sockets: Socket[] = [];
  const proxy = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    sockets.push(near, far);
    for (const socket of [near, far]) socket.on('error', () => {});
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(proxy.address() as { port: number }).port}`;
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  stage.dial(address);
  for (const [i, step] of scenario.steps.entries()) {
    step(stage.talk({ cut, refused: '127.0.0.1:1' }, address));
    await settled(stage.heard, counts[i]!);
  }
  const heard = { client: [...stage.heard.client], server: [...stage.heard.server] };
  stage.hangUp();
  cut();
  proxy.close();
  await stage.server.close();
  return heard;
}

/** Until that much has been heard, however busy the machine is, and then until nothing more comes for a while. */
async function settled({ client, server }: Heard, count: number): Promise<void> {
  const heard = () => client.length + server.length;
  const giveUpMs = performance.now() + 60_000;
  while (heard() < count && performance.now() < giveUpMs) await sleep(20);
  for (let before = -1; before !== heard(); ) {
    before = heard();
    await sleep(600);
  }
}

async function simulated(scenario: Scenario): Promise<{ heard: Heard; counts: number[] }> {
  const simulation = new Simulation({ seed: 1 });
  const [here, there] = [simulation.machine('here'), simulation.machine('there')];
  const [client, server] = [here, there].map((machine) => machine.process(machine.name, () => {}));
  client.start();
  server.start();
  const stage = new Stage(scenario, server.world.network, client.world.network);
  await stage.server.listen('0.0.0.0', 7);
  const address = 'there:7';
  const cut = () => simulation.network.reset(here, there);
  stage.dial(address);
  const counts: number[] = [];
  for (const step of scenario.steps) {
    simulation.at(simulation.nowNs, () => step(stage.talk({ cut, refused: 'there:1' }, address)));
    await simulation.run(simulation.nowNs + 1e9);
    counts.push(stage.heard.client.length + stage.heard.server.length);
  }
  return { heard: stage.heard, counts };
}

describe('the simulated network', () => {
  const overBoth = new Map<string, { real: Heard; simulated: Heard }>();

  // All at once: most of the time they wait.
  beforeAll(async () => {
    const all = Object.entries(SCENARIOS).map(async ([name, scenario]) => {
      const { heard, counts } = await simulated(scenario);
      overBoth.set(name, { simulated: heard, real: await overGrpc(scenario, counts) });
    });
    await Promise.all(all);
  });

  it.each(Object.keys(SCENARIOS))('does as gRPC does when %s', (name) => {
    const both = overBoth.get(name);
    expect(both?.simulated).toEqual(both?.real);
  });
});
