import { Metadata, type ServiceDefinition } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { AcceptedStream, Dialed, StreamServer } from '../../../../src/live/wire/network.js';
import { type SimMachine, type SimProcess, Simulation } from '../index.js';

const S = 1e9;
const encode = (text: string) => Buffer.from(text);
const METHOD = { path: '/test.Service/Talk', requestSerialize: encode, responseSerialize: encode };
const SERVICE = { Talk: METHOD } as unknown as ServiceDefinition;

/** A client on one machine and a server on another, both of which write down what they hear, with the seconds of true time. */
class Pair {
  /** When connections were closed at both ends. */
  readonly closedS: number[] = [];
  readonly simulation = new Simulation({
    seed: 1,
    tap: { connection: (nowNs, _, change) => change === 'closed' && this.closedS.push(nowNs / S) },
  });
  readonly here: SimMachine = this.simulation.machine('here');
  readonly there: SimMachine = this.simulation.machine('there');
  readonly client: SimProcess = this.here.process('client', () => {});
  readonly server: SimProcess = this.there.process('server', () => this.serve());
  readonly heard: string[] = [];
  call!: AcceptedStream<string>;
  private dialed!: Dialed<string>;

  constructor(private readonly proves = true) {
    this.client.start();
    this.server.start();
    for (const [from, to] of [
      [this.here, this.there],
      [this.there, this.here],
    ])
      this.simulation.network.path(from, to).quality = { delayNs: 0.01 * S, jitterNs: 0, bytesPerS: 1e6 };
    this.at(0.1, () => this.dial());
  }

  at(seconds: number, run: () => void): void {
    this.simulation.at(seconds * S, run);
  }

  say(text: string): void {
    this.dialed.stream.write(text);
  }

  hangUp(): void {
    this.dialed.hangUp();
  }

  /** Up to this time. */
  async run(seconds: number): Promise<readonly string[]> {
    await this.simulation.run(seconds * S);
    return this.heard;
  }

  dial(): void {
    this.dialed = this.client.world.network.dial({
      ...{ address: 'there:7', tls: undefined, peer: 'worker', method: METHOD, headers: new Metadata() },
      maxMessageBytes: 1e6,
    });
    const { stream } = this.dialed;
    stream.on('data', (bytes) => this.note('client', `${bytes}`));
    stream.on('error', ({ details }) => this.note('client', details.replace(/ Resolution.*/, '')));
  }

  private async serve(): Promise<void> {
    const server: StreamServer = this.server.world.network.server({
      ...{ whose: 'the test', maxMessageBytes: 1e6, mostConnections: 4 },
    });
    server.addService(SERVICE, {
      Talk: (call: AcceptedStream<string>) => {
        this.call = call;
        if (this.proves) server.prove(call.getPeer());
        call.on('data', (bytes) => this.note('server', `${bytes}`));
        call.on('cancelled', () => this.note('server', 'cancelled'));
      },
    });
    await server.listen('0.0.0.0', 7);
  }

  private note(who: string, what: string): void {
    this.heard.push(`${(this.simulation.nowNs / S).toFixed(2)} ${who}: ${what}`);
  }
}

describe('a simulated network', () => {
  it('takes time, and more for more', async () => {
    const pair = new Pair();
    pair.at(1, () => pair.say('small'));
    pair.at(2, () => pair.say('x'.repeat(500_000)));
    pair.at(2, () => pair.say('after'));
    const heard = await pair.run(3);
    expect(heard.map((line) => line.slice(0, 20))).toEqual([
      '1.01 server: small',
      '2.51 server: xxxxxxx',
      '2.51 server: after',
    ]);
  });

  it('lets through later what was sent while a direction was cut, in order', async () => {
    const pair = new Pair();
    const path = pair.simulation.network.path(pair.here, pair.there);
    pair.at(1, () => path.cut());
    for (const text of ['a', 'b', 'c']) pair.at(1.5, () => pair.say(text));
    pair.at(2, () => pair.call.write('back'));
    pair.at(3, () => path.heal());
    const heard = await pair.run(10);
    expect(heard[0]).toBe('2.01 client: back');
    expect(heard.slice(1).map((line) => line.slice(-1))).toEqual(['a', 'b', 'c']);
    expect(Number.parseFloat(heard[1])).toBeGreaterThanOrEqual(3);
  });

  it('connects when a cut is over, or gives up', async () => {
    const pair = new Pair();
    const path = pair.simulation.network.path(pair.there, pair.here);
    path.cut();
    pair.at(2, () => path.heal());
    pair.at(5, () => pair.say('at last'));
    expect(await pair.run(6)).toEqual(['5.01 server: at last']);
    path.cut();
    pair.at(10, () => pair.dial());
    expect((await pair.run(40)).slice(1)).toEqual([
      // The one that was there: its server pings in vain.
      '18.13 server: cancelled',
      '30.00 client: No connection established. Last error: Error: connect ETIMEDOUT 10.0.0.2:7.',
    ]);
  });

  it('has half-open connections, which the server notices, and the client when TCP gives up', async () => {
    const pair = new Pair();
    pair.at(1, () => pair.simulation.network.silence(pair.here, pair.there));
    pair.at(2, () => pair.say('in vain'));
    const heard = await pair.run(1000);
    expect(heard).toEqual(['15.13 server: cancelled', '926.00 client: read ETIMEDOUT']);
  });

  it('has half-open connections that a frozen server has not seen so far, and closes when it runs again', async () => {
    const pair = new Pair();
    pair.at(0.12, () => pair.server.freeze());
    pair.at(1, () => pair.simulation.network.silence(pair.here, pair.there));
    pair.at(3, () => pair.server.thaw());
    pair.at(5, () => pair.hangUp());
    await pair.run(10);
    expect(pair.closedS).toEqual([6]);
  });

  it('keeps a connection with a frozen process, which reads it all later', async () => {
    const pair = new Pair();
    pair.at(1, () => pair.server.freeze());
    pair.at(2, () => pair.say('a'));
    pair.at(3, () => pair.say('b'));
    pair.at(4, () => pair.server.thaw());
    expect(await pair.run(5)).toEqual(['4.00 server: a', '4.00 server: b']);
  });

  it('delivers what a process has sent before it crashed, and its end', async () => {
    const pair = new Pair();
    pair.at(1, () => pair.call.write('last'));
    pair.at(1.005, () => pair.server.crash());
    pair.at(2, () => pair.dial());
    expect(await pair.run(3)).toEqual([
      '1.01 client: last',
      '1.02 client: Connection dropped',
      '2.02 client: No connection established. Last error: Error: connect ECONNREFUSED 10.0.0.2:7.',
    ]);
  });

  it('says nothing of a machine that has lost power until it is on again', async () => {
    const pair = new Pair();
    pair.at(1, () => pair.there.losePower());
    pair.at(2, () => pair.say('in vain'));
    pair.at(60, () => pair.server.start());
    expect(await pair.run(70)).toEqual(['60.01 client: read ECONNRESET']);
  });

  it('changes a byte of one frame', async () => {
    const pair = new Pair();
    pair.at(1, () => {
      pair.simulation.network.path(pair.here, pair.there).corruptNext = 1;
      pair.say('damaged');
      pair.say('whole');
    });
    const [damaged, whole] = await pair.run(2);
    expect(damaged).not.toContain('damaged');
    expect(whole).toBe('1.01 server: whole');
  });

  it('loses one frame, and delivers those that follow', async () => {
    const pair = new Pair();
    pair.at(1, () => {
      pair.simulation.network.path(pair.here, pair.there).vanishNext = 1;
      pair.say('vanishes');
      pair.say('arrives');
    });
    expect(await pair.run(2)).toEqual(['1.01 server: arrives']);
  });

  it('closes a connection that does not prove itself', async () => {
    const pair = new Pair(false);
    expect(await pair.run(10)).toEqual(['5.13 server: cancelled', '5.14 client: Connection dropped']);
  });

  it('gives a port to one server at a time', async () => {
    const pair = new Pair();
    await pair.run(1);
    const process = pair.there.process('another', () => {});
    process.start();
    const other = process.world.network.server({ whose: 'another', maxMessageBytes: 1, mostConnections: 1 });
    await expect(other.listen('0.0.0.0', 7)).rejects.toThrow('cannot listen on 0.0.0.0:7');
    pair.server.crash();
    await expect(other.listen('0.0.0.0', 7)).resolves.toBe(7);
  });
});
