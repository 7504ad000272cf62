import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { monotonicNs } from '../../../../src/base/clock/clock.js';
import { NS_PER_HOUR } from '../../../../src/base/units.js';
import { REAL_TIME } from '../../../../src/base/world/real-time.js';
import type { Time, Timer } from '../../../../src/base/world/time.js';
import { CallThread } from '../../../../src/live/controller/link/call-thread.js';
import { RemoteLink } from '../../../../src/live/controller/link/remote-link.js';
import { RemoteLinks } from '../../../../src/live/controller/link/remote-links.js';
import { REAL_WORLD } from '../../../../src/live/world/real-world.js';
import type { ThreadHandle, Threads } from '../../../../src/live/world/threads.js';
import { resultOf } from './fake-machine.js';
import { connectTo, infer, inferLarge, load, PATIENT, pause, serve, wireTo } from './fixtures.js';

const IMPATIENT = { heartbeatMs: 20, silenceMs: 300 };

describe('remote worker', () => {
  it.each(['', 'host', 'host:', ':7000', 'host:0', 'host:70000', 'unix:/tmp/x:1', 'a b:1', '::1:7000'])(
    'refuses "%s" as an address',
    (address) => {
      expect(() => new RemoteLink({ address })).toThrow('write HOST:PORT');
    },
  );

  it('refuses a certificate authority that is none', () => {
    const tls = { ca: Buffer.from('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n') };
    expect(() => new RemoteLink({ address: 'localhost:1', tls })).toThrow('cannot be used');
  });

  it('waits for a worker that is started later, and says why', async () => {
    const { server } = await serve();
    await server.close();
    const lines: string[] = [];
    const { events } = connectTo(server.port, { log: (line) => lines.push(line) });
    while (lines.length === 0) await pause();
    await serve({ port: server.port });
    await events.next('up');
    for (const line of lines) expect(line).toMatch(/^cannot be reached: connect ECONNREFUSED /);
  });

  it('goes down with its worker and comes up with the next one there', async () => {
    const { server } = await serve();
    const { worker, events } = connectTo(server.port);
    await events.next('up');
    await server.close();
    expect((await events.next('down')).reason).toBe('the worker shuts down');
    await serve({ port: server.port });
    await events.next('up');
    worker.send([infer(1)]);
    expect((await events.next('result')).result.id).toBe(1);
  });

  it('notices a connection that goes dead without a word, and makes a new one', async () => {
    const { server } = await serve();
    const wire = await wireTo(server.port);
    const { events } = connectTo(wire.port, IMPATIENT);
    await events.next('up');
    wire.freeze();
    expect((await events.next('down')).reason).toBe('the worker has said nothing for 300 ms');
    await events.next('up');
  });

  it('does not take a worker for dead because its own thread was busy', async () => {
    const { server } = await serve();
    const { worker, events } = connectTo(server.port, IMPATIENT);
    await events.next('up');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * IMPATIENT.silenceMs);
    worker.send([infer(1)]);
    expect((await events.next('result')).result.id).toBe(1);
  });

  it('survives something else on the port', async () => {
    const other = createServer((socket) => {
      socket.on('error', () => {});
      socket.end('SSH-2.0-OpenSSH_9.2p1 Debian\r\n');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const lines: string[] = [];
    const { events } = connectTo((other.address() as AddressInfo).port, { log: (line) => lines.push(line) });
    while (lines.length === 0) await pause();
    expect(events.pending).toEqual([]);
  });

  it('passes the results that came right before a GPU went down', async () => {
    const { machine, server } = await serve();
    const { worker, events } = connectTo(server.port);
    await events.next('up');
    machine.answering = false;
    worker.send([infer(1), { ...infer(2), gpu: 1 }]);
    while (machine.submitted.length < 2) await pause();
    machine.report(machine.submitted.map(resultOf));
    machine.killGpu(1, 'it died');
    for (const id of [1, 2]) expect((await events.next('result')).result.id).toBe(id);
    expect((await events.next('down')).gpu).toBe(1);
  });

  it('never reports an end that lies in the future', async () => {
    const { machine, server } = await serve();
    const { worker, events, nowNs } = connectTo(server.port);
    await events.next('up');
    machine.answering = false;
    worker.send([infer(1)]);
    while (machine.submitted.length === 0) await pause();
    const endNs = monotonicNs() + NS_PER_HOUR;
    machine.report([{ ...resultOf(load(1)), beginNs: endNs - 5, endNs }]);
    const { result } = await events.next('result');
    expect(result.endNs).toBeLessThanOrEqual(nowNs());
    expect(result.endNs - result.beginNs).toBe(5);
  });

  it('loses its connection with the thread that has it, and makes another in a new one', async () => {
    const { server } = await serve();
    const started: ThreadHandle[] = [];
    const threads: Threads = {
      ...REAL_WORLD.threads,
      start: (entry, options) => {
        started.push(REAL_WORLD.threads.start(entry, options));
        return started[started.length - 1];
      },
    };
    const thread = new CallThread({ ...REAL_WORLD, threads }, () => {});
    const { worker, events } = connectTo(server.port, { thread });
    await events.next('up');
    worker.send([inferLarge(1, 1)]);
    await started[0].terminate();
    while (events.pending[0]?.kind === 'result') await events.next('result');
    expect((await events.next('down')).reason).toContain('the thread of links has ended');
    await events.next('up');
    worker.send([infer(2)]);
    expect((await events.next('result')).result.id).toBe(2);
    expect(started.length).toBe(2);
  });

  it('answers itself what is too large for the worker, and goes on', async () => {
    const { machine, server } = await serve({ maxMessageBytes: 3 * 1024 * 1024 });
    const { worker, events } = connectTo(server.port);
    await events.next('up');
    worker.send([inferLarge(1, 2), inferLarge(2, 1), load(3)]);
    const results = [await events.next('result'), await events.next('result'), await events.next('result')];
    const byId = results.map(({ result }) => result).sort((a, b) => a.id - b.id);
    expect(byId.map(({ status }) => status)).toEqual([98, 0, 0]);
    expect(byId[0].error).toContain('exceed');
    expect(machine.submitted.map(({ id }) => id)).toEqual([2, 3]);
  });

  it('hears of outputs that are too large for itself', async () => {
    const { server } = await serve();
    const { worker, events } = connectTo(server.port, { maxMessageBytes: 3 * 1024 * 1024 });
    await events.next('up');
    worker.send([inferLarge(1, 2)]);
    const { result } = await events.next('result');
    expect(result).toMatchObject({ id: 1, status: 98, outputs: [] });
    worker.send([inferLarge(2, 1)]);
    expect((await events.next('result')).result).toMatchObject({ id: 2, status: 0 });
  });

  it('pings no worker any more that it was closed for meeting', async () => {
    const { server } = await serve();
    const pings = new Set<Timer>();
    const every: Time['every'] = (ms, call) => {
      const timer = REAL_TIME.every(ms, call);
      const cancel = () => {
        pings.delete(timer);
        timer.cancel();
      };
      pings.add(timer);
      return { cancel, unref: () => timer.unref() };
    };
    const links = new RemoteLinks({ world: { ...REAL_WORLD, time: { ...REAL_TIME, every } } });
    const link = new RemoteLink({ address: `localhost:${server.port}`, ...PATIENT }, links);
    await new Promise<void>((resolve) => {
      const events = { driven: () => {}, drives: () => {}, lost: () => false };
      link.start({ ...events, met: () => void link.close().then(resolve) }, monotonicNs);
    });
    expect(pings.size).toBe(0);
  });
});
