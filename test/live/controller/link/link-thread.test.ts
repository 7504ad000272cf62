import { describe, expect, it } from 'vitest';
import { REAL_TIME } from '../../../../src/base/world/real-time.js';
import { STATUS_INFER_TOO_LATE } from '../../../../src/core/action.js';
import { RemoteLink } from '../../../../src/live/controller/link/remote-link.js';
import { Outbox } from '../../../../src/live/controller/link/thread/link-agent.js';
import { LinkHost } from '../../../../src/live/controller/link/thread/link-host.js';
import {
  ActionPacker,
  packInputs,
  ResultPacker,
  unpackActions,
  unpackResults,
} from '../../../../src/live/controller/link/thread/link-pack.js';
import type { ActionMessage, ResultMessage } from '../../../../src/live/messages.js';
import { resultOf } from './fake-machine.js';
import { connectTo, infer, inferLarge, load, PATIENT, pause, serve, start, wireTo } from './fixtures.js';
import { Recorder } from './recorder.js';

describe('the thread of links', () => {
  it('takes large inputs over, and gives back with the result those of an INFER that did not run', async () => {
    const { machine, server } = await serve();
    const { link, events } = connectTo(server.port);
    await events.next('up');
    machine.answering = false;
    const action = inferLarge(1, 1);
    const [input] = structuredClone(action.inputs);
    link.send([action]);
    while (machine.submitted.length === 0) await pause();
    expect(action.inputs[0].length).toBe(0);
    machine.report([{ ...resultOf(load(1)), status: STATUS_INFER_TOO_LATE }]);
    const { result } = await events.next('result');
    expect(result.status).toBe(STATUS_INFER_TOO_LATE);
    expect(Buffer.compare(result.inputs?.[0] ?? new Uint8Array(), input)).toBe(0);
  });

  it('keeps no inputs of what ran', async () => {
    const { server } = await serve();
    const { link, events } = connectTo(server.port);
    await events.next('up');
    link.send([inferLarge(1, 1)]);
    expect((await events.next('result')).result.inputs).toBeUndefined();
    link.restart('to see', null);
    await events.next('down');
    expect(events.returned).toEqual([[]]);
  });

  it('passes the results that came right before its worker went down', async () => {
    const { machine, server } = await serve();
    const { link, events } = connectTo(server.port);
    await events.next('up');
    machine.answering = false;
    const actions = [infer(1), { ...infer(2), gpu: 1 }];
    link.send(actions);
    while (machine.submitted.length < 2) await pause();
    machine.report(machine.submitted.map(resultOf));
    machine.killGpu(1, 'it died');
    for (const id of [1, 2]) expect((await events.next('result')).result.id).toBe(id);
    expect((await events.next('down')).gpu).toBe(1);
  });

  it('gives back the inputs of what was sent in vain when the connection breaks', async () => {
    const { machine, server } = await serve();
    const wire = await wireTo(server.port);
    const { link, events } = connectTo(wire.port);
    await events.next('up');
    machine.answering = false;
    const actions = [inferLarge(1, 2), infer(2), inferLarge(3, 1)];
    const wanted = structuredClone(actions.map(({ inputs }) => inputs[0]));
    link.send(actions);
    while (machine.submitted.length < 3) await pause();
    wire.cut();
    await events.next('down');
    expect(events.returned).toEqual([[1, 3]]);
    for (const [id, [input]] of events.inputs) expect(Buffer.compare(input, wanted[id - 1])).toBe(0);
  });

  it('gives back what was on its way when the worker went down, and then takes nothing more over', async () => {
    const { machine, server } = await serve();
    const { link, events } = connectTo(server.port);
    await events.next('up');
    link.restart('why not', null);
    link.send([inferLarge(1, 1)]);
    await events.next('down');
    expect(events.returned).toEqual([[1]]);
    const later = inferLarge(2, 1);
    link.send([later]);
    await events.next('up');
    expect(later.inputs[0].length).toBeGreaterThan(0);
    expect(machine.submitted).toEqual([]);
  });

  it('gives back what a GPU was sent that has died, and leaves the others theirs', async () => {
    const { machine, server } = await serve();
    const { link, events } = connectTo(server.port);
    await events.next('up');
    machine.answering = false;
    link.send([inferLarge(1, 1), { ...inferLarge(2, 1), gpu: 1 }]);
    while (machine.submitted.length < 2) await pause();
    machine.killGpu(1, 'it died');
    expect((await events.next('down')).gpu).toBe(1);
    expect((await events.next('down')).gpu).toBeNull();
    expect(events.returned).toEqual([[2], [1]]);
  });

  it('loses its links when it dies, and makes them again in another', async () => {
    const host = new LinkHost();
    const servers = [await serve(), await serve()];
    const links = servers.map(
      ({ server }) => new RemoteLink({ address: `localhost:${server.port}`, ...PATIENT }, host),
    );
    const [one, other] = links.map((link) => ({ link, ...start(link) }));
    await one.events.next('up');
    await other.events.next('up');
    const asked = expect(
      Promise.all([host.thread?.terminate(), one.link.addModel(7, { name: 'a', version: '', digest: '' })]),
    ).rejects.toThrow('not connected');
    for (const { events } of [one, other])
      expect((await events.next('down')).reason).toContain('the thread of links has ended');
    await asked;
    for (const { events, link } of [one, other]) {
      await events.next('up');
      link.send([infer(1)]);
      expect((await events.next('result')).result.id).toBe(1);
    }
  });

  it('ends with its last link', async () => {
    const host = new LinkHost();
    const { server } = await serve();
    const links = [1, 2].map(() => new RemoteLink({ address: `localhost:${server.port}`, ...PATIENT }, host));
    for (const link of links) link.start(new Recorder(), () => 0);
    await links[0].close();
    expect(host.thread).not.toBeNull();
    await links[1].close();
    expect(host.thread).toBeNull();
  });
});

describe('what the thread of links reports', () => {
  function outbox(): { box: Outbox; sent: string[] } {
    const sent: string[] = [];
    const box = new Outbox((message) => {
      if (typeof message !== 'string') sent.push(message.kind);
      else unpackResults(message, (_, { id }) => sent.push(`result ${id}`));
    }, REAL_TIME);
    return { box, sent };
  }
  const settled = {
    kind: 'settled' as const,
    link: 1,
    gpu: null,
    reason: 'it was cut',
    inputs: packInputs(new Map()).contents,
  };

  it('has all results before the link is settled or down, and none twice', async () => {
    const { box, sent } = outbox();
    box.result(1, resultOf(infer(1)), []);
    box.result(1, resultOf(infer(2)), []);
    box.post({ kind: 'down', link: 1, gpu: null, reason: 'it was cut' });
    box.result(2, resultOf(infer(3)), []);
    box.post(settled);
    await pause();
    expect(sent).toEqual(['result 1', 'result 2', 'down', 'result 3', 'settled']);
  });

  it('is one message for the results of a turn', async () => {
    const { box, sent } = outbox();
    box.result(1, resultOf(infer(1)), []);
    box.result(2, resultOf(infer(2)), []);
    expect(sent).toEqual([]);
    await pause();
    box.result(1, resultOf(infer(3)), []);
    await pause();
    expect(sent).toEqual(['result 1', 'result 2', 'result 3']);
  });
});

/** Just large enough to be handed over, and a small one. */
const LARGE = [20_000, 7].map((length) => Uint8Array.from({ length }, (_, i) => i % 251));

describe('a message to or from the thread of links', () => {
  it('carries actions of many links in their order, with shapes and endless windows', () => {
    const actions: [number, ActionMessage][] = [
      [2, { ...infer(1), latestNs: Number.POSITIVE_INFINITY, shapes: [[1, 3], []] }],
      [1, { ...infer(2), inputs: LARGE }],
      [2, { ...load(3), shapes: undefined }],
      [7, { ...infer(2 ** 40), shapes: [[4]] }],
    ];
    const packer = new ActionPacker();
    for (const [link, action] of structuredClone(actions)) packer.add(link, action);
    const { packed, transfer } = packer.take();
    const found: [number, ActionMessage][] = [];
    unpackActions(structuredClone(packed, { transfer }), (link, action) => found.push([link, action]));
    expect(found).toEqual(actions);
  });

  it('carries results with their outputs, errors and inputs', () => {
    const results: [number, ResultMessage][] = [
      [1, { ...resultOf(infer(1)), shapes: [[3], [1, 1]] }],
      [2, { ...resultOf(load(2)), status: 98, error: 'glüht', inputs: LARGE }],
      [1, { ...resultOf({ ...infer(3), inputs: LARGE }), beginNs: -5 }],
    ];
    const packer = new ResultPacker();
    for (const [link, result] of structuredClone(results)) packer.add(link, result, result.inputs ?? []);
    const { packed, transfer } = packer.take();
    const found: [number, ResultMessage][] = [];
    unpackResults(structuredClone(packed, { transfer }), (link, result) => found.push([link, result]));
    expect(found).toEqual(results);
  });
});
