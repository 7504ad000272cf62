import { describe, expect, it } from 'vitest';
import { monotonicNs } from '../../../../src/base/clock/clock.js';
import { NS_PER_HOUR, NS_PER_S } from '../../../../src/base/units.js';
import type { FleetWorker } from '../../../../src/live/controller/fleet-worker.js';
import { CallThread } from '../../../../src/live/controller/link/call-thread.js';
import { LocalLink } from '../../../../src/live/controller/link/worker-link.js';
import { REAL_WORLD } from '../../../../src/live/world/real-world.js';
import { DESCRIPTION, FakeMachine, resultOf, STATE } from './fake-machine.js';
import { connectTo, infer, inferLarge, load, pause, serve, start } from './fixtures.js';
import type { Recorder } from './recorder.js';

interface Linked {
  readonly machine: FakeMachine;
  readonly worker: FleetWorker;
  readonly events: Recorder;
  readonly nowNs: () => number;
}

let thread: CallThread | undefined;

/** What holds for every link, wherever the machine is. `aheadNs`: the controller's clock before the machine's. */
const LINKS: Readonly<Record<string, (aheadNs?: number) => Promise<Linked>>> = {
  'local worker': async (aheadNs = 0) => {
    const machine = new FakeMachine();
    const link = new LocalLink(machine);
    return { machine, ...start(link, aheadNs) };
  },
  'remote worker': async (aheadNs = 0) => {
    const { machine, server } = await serve();
    return { machine, ...connectTo(server.port, { aheadNs }) };
  },
  'remote worker, called from a thread': async (aheadNs = 0) => {
    const { machine, server } = await serve();
    thread ??= new CallThread(REAL_WORLD, () => {});
    return { machine, ...connectTo(server.port, { aheadNs, thread }) };
  },
};

describe.each(Object.entries(LINKS))('%s', (_name, open) => {
  it('makes the machine idle and comes up with what it is and holds', async () => {
    const { machine, events } = await open();
    const { description, state } = await events.next('up');
    expect(description).toStrictEqual(DESCRIPTION);
    expect(state).toStrictEqual(STATE);
    expect(machine.quiesces).toBe(1);
  });

  it('passes actions and results, tensors bit for bit', async () => {
    const { machine, worker, events } = await open();
    await events.next('up');
    const actions = [load(1), infer(2), inferLarge(3, 2), infer(4), inferLarge(5, 1)];
    // What is sent has inputs of its own.
    worker.send(structuredClone(actions));
    for (const action of actions) {
      const { result } = await events.next('result');
      expect(result).toMatchObject({ id: action.id, gpu: action.gpu, status: 0, error: '' });
      expect(result.outputs.length).toBe(action.inputs.length);
      result.outputs.forEach((output, i) => {
        expect(Buffer.compare(output, action.inputs[i])).toBe(0);
      });
    }
    const sent = ({ earliestNs, latestNs, inputs, ...rest }: (typeof actions)[0]) => rest;
    expect(machine.submitted.map(sent)).toEqual(actions.map(sent));
  });

  it('has models prepared, says why one cannot be, and takes their results', async () => {
    const { machine, worker, events } = await open();
    await events.next('up');
    const [echo] = DESCRIPTION.models;
    const offer = {
      ...echo,
      spec: { ...echo.spec, name: 'new' },
      version: '7',
      digest: 'd7',
      labels: [['a', 'b'], null],
    };
    machine.offers = [offer];
    const reference = { name: 'new', version: '7', digest: 'd7' };
    expect(await worker.addModel(40, reference)).toStrictEqual(offer);
    await expect(worker.addModel(41, { ...reference, name: 'none' })).rejects.toThrow(
      'there is no model none',
    );
    await worker.dropModel(1);
    expect(machine.changes).toEqual(['add new 7 d7 at 40', 'add none 7 d7 at 41', 'drop 1']);
    while (machine.models.length < 40) machine.models.push(null);
    worker.send([{ ...infer(1), model: 40 }]);
    expect((await events.next('result')).result).toMatchObject({ id: 1, status: 0, error: '' });
    machine.state = {
      present: [[40], []],
      changes: [
        { index: 40, reference },
        { index: 1, reference: null },
      ],
    };
    worker.restart('to see');
    await events.next('down');
    expect((await events.next('up')).state).toStrictEqual(machine.state);
  });

  it.each([0, 7 * NS_PER_HOUR, -7 * NS_PER_HOUR])(
    'translates times, clocks being %d ns apart',
    async (aheadNs) => {
      const { machine, worker, events, nowNs } = await open(aheadNs);
      await events.next('up');
      const earliestNs = nowNs();
      const latestNs = earliestNs + NS_PER_S;
      worker.send([
        { ...infer(1), earliestNs, latestNs },
        { ...infer(2), earliestNs, latestNs: Number.POSITIVE_INFINITY },
      ]);
      const { result } = await events.next('result');
      const nearlyNs = 10 * NS_PER_S;
      const [first, second] = machine.submitted;
      expect(Math.abs(first.earliestNs - monotonicNs())).toBeLessThan(nearlyNs);
      expect(first.latestNs - first.earliestNs).toBe(NS_PER_S);
      expect(second.latestNs).toBe(Number.POSITIVE_INFINITY);
      expect(Math.abs(result.beginNs - earliestNs)).toBeLessThan(nearlyNs);
      expect(Number.isSafeInteger(result.beginNs)).toBe(true);
      expect(result.endNs - result.beginNs).toBe(1000);
    },
  );

  it('goes down and comes up when it is restarted, and forgets what was sent before', async () => {
    const { machine, worker, events } = await open();
    await events.next('up');
    machine.answering = false;
    worker.send([infer(1)]);
    const idle = machine.hold();
    machine.state = { present: [[], [0]] };
    worker.restart('it hangs');
    // Sent before the controller can have heard: as lost as what was sent before.
    worker.send([infer(2)]);
    expect(await events.next('down')).toEqual({ kind: 'down', reason: 'it hangs', gpu: null });
    machine.report([resultOf(infer(1))]);
    idle();
    const { state } = await events.next('up');
    expect(state).toStrictEqual({ present: [[], [0]] });
    machine.answering = true;
    worker.send([infer(3)]);
    expect((await events.next('result')).result.id).toBe(3);
  });

  it('tells which GPU has died, then brings it back by making the whole machine idle', async () => {
    const { machine, events } = await open();
    await events.next('up');
    machine.killGpu(1, 'its thread ended');
    machine.killGpu(0, 'the same thread ended');
    expect(await events.next('down')).toEqual({ kind: 'down', reason: 'its thread ended', gpu: 1 });
    expect(await events.next('down')).toEqual({ kind: 'down', reason: 'the same thread ended', gpu: 0 });
    expect(await events.next('down')).toMatchObject({ gpu: null });
    await events.next('up');
    expect(machine.quiesces).toBe(2);
  });

  it('tries again when the machine cannot be made idle', async () => {
    const { machine, worker, events } = await open();
    await events.next('up');
    const broken = Promise.reject(new Error('the driver is gone'));
    broken.catch(() => {});
    machine.idle = broken;
    worker.restart('it hangs');
    await events.next('down');
    while (machine.quiesces < 2) await pause();
    machine.idle = Promise.resolve();
    await events.next('up');
    expect(machine.quiesces).toBeGreaterThan(2);
  });

  it('says nothing more once it is closed', async () => {
    const { machine, worker, events } = await open();
    await events.next('up');
    await worker.close();
    machine.report([resultOf(infer(1))]);
    machine.killGpu(0, 'too late');
    await new Promise((resolve) => setImmediate(resolve));
    expect(events.pending).toEqual([]);
  });
});
