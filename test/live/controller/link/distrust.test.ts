import { describe, expect, it } from 'vitest';
import { monotonicNs } from '../../../../src/base/clock/clock.js';
import { NS_PER_S } from '../../../../src/base/units.js';
import type { WireResult, WorkerMessage } from '../../../../src/live/wire/protocol.js';
import { descriptionToWire, resultToWire } from '../../../../src/live/wire/to-wire.js';
import { DESCRIPTION, resultOf } from './fake-machine.js';
import { fakeRemote, type RemoteBehavior } from './fake-remote.js';
import { connectTo, infer, pause } from './fixtures.js';

const [MODEL] = descriptionToWire(DESCRIPTION, 1e6).models;

describe('a controller', () => {
  it.each<[string, RemoteBehavior, string]>([
    ['has no GPUs', { welcome: { gpus: [] } }, 'it has 0 GPUs'],
    ['has pages of no size', { welcome: { pageBytes: 0 } }, 'pages of 0 bytes'],
    [
      'has no weights cache',
      { welcome: { gpus: [{ name: 'none', provider: 'cpu', pages: 0, oneLane: false }] } },
      'a weights cache of 0 pages',
    ],
    [
      'takes days for an INFER',
      { welcome: { models: [withSpec({ execNs: MODEL.spec.execNs.map(() => 1e15) })] } },
      'echo takes 1000000000000000 ns',
    ],
    [
      'takes days for a LOAD',
      { welcome: { models: [withSpec({ loadNs: 1e15 })] } },
      'echo takes 1000000000000000 ns',
    ],
    [
      'has endless batches',
      { welcome: { models: [withSpec({ batchSizes: [1, 1e9], execNs: [1, 2] })] } },
      'echo has a batch size of 1000000000',
    ],
    ['has two models of one name', { welcome: { models: [MODEL, MODEL] } }, 'two models echo'],
    [
      'has a tensor whose size contradicts itself',
      { welcome: { models: [tensor({ bytes: 4 })] } },
      'tensor data of echo has an impossible size',
    ],
    [
      'has a tensor of negative size',
      { welcome: { models: [tensor({ shape: [-7] })] } },
      'tensor data of echo has an impossible size',
    ],
    [
      'has said something that did not arrive',
      { loses: ({ body }) => body === 'lease' },
      'a message of the worker has number 3 instead of 2: others were lost in transit',
    ],
    ['holds a model that is not there', state([[7], []]), 'there is no model 7'],
    ['holds a model twice', state([[1, 1], []]), 'a model is on a GPU twice'],
    ['has more GPUs than it said', state([[], [], []]), '3 GPUs, not 2'],
    [
      'answers a ping that was never sent',
      {
        instead: (heard) =>
          heard.body === 'ping' ? { body: 'pong', pong: { sentNs: 2 ** 50, workerNs: 1 } } : undefined,
      },
      'answers a ping that it was not sent',
    ],
  ])('leaves a worker that %s', async (_, behavior, words) => {
    const port = await fakeRemote(behavior);
    const lines: string[] = [];
    const { events } = connectTo(port, { log: (line) => lines.push(line) });
    while (lines.length === 0) await pause();
    expect(lines[0]).toContain(words);
    expect(events.pending).toEqual([]);
  });

  it.each<[string, (sent: { id: number }) => WorkerMessage, string]>([
    ['with a status that is none', ({ id }) => result(id, { status: -1 }), 'the unknown status -1'],
    ['for another GPU', ({ id }) => result(id, { gpu: 1 }), 'answers for GPU 1 an action of GPU 0'],
    [
      'with the end of a GPU it lacks',
      () => ({ body: 'gpuDown', gpuDown: { gpu: 9, reason: '' } }),
      'has lost GPU 9',
    ],
  ])('leaves a worker that answers %s', async (_, answer, words) => {
    const { link, events } = connectTo(await remoteThatAnswers(answer));
    await events.next('up');
    link.send([infer(1)]);
    expect((await events.next('down')).reason).toContain(words);
  });

  it.each<[string, Partial<WireResult>, string]>([
    ['too few outputs', { outputs: [] }, '0 outputs, echo has 2'],
    ['a short output', { outputs: [new Uint8Array(2), new Uint8Array(2)] }, '2 bytes of output same, not 3'],
    ['shapes of a model without free sizes', { shapes: [{ dims: [3] }] }, '1 shapes'],
  ])('takes %s for a failure of the device', async (_, over, words) => {
    const { link, events } = connectTo(await remoteThatAnswers(({ id }) => result(id, over)));
    await events.next('up');
    link.send([infer(1)]);
    const { result: heard } = await events.next('result');
    expect(heard).toMatchObject({ status: 98, outputs: [] });
    expect(heard.error).toContain(words);
  });

  it('believes no duration that it has not waited for', async () => {
    const endNs = monotonicNs();
    const { link, events, nowNs } = connectTo(
      await remoteThatAnswers(({ id }) => result(id, { beginNs: endNs - 1000 * NS_PER_S, copyInNs: -5 })),
    );
    await events.next('up');
    const sentNs = nowNs();
    link.send([infer(1)]);
    const { result: heard } = await events.next('result');
    expect(heard.status).toBe(0);
    expect(heard.endNs - heard.beginNs).toBeLessThan(nowNs() - sentNs + NS_PER_S);
    expect(heard.copyInNs).toBe(0);
  });

  it('hears no result of what it did not send, nor a second one', async () => {
    const { link, events } = connectTo(
      await remoteThatAnswers(({ id }) => ({
        body: 'results',
        results: { results: [wire(77), wire(id), wire(id)] },
      })),
    );
    await events.next('up');
    link.send([infer(1)]);
    expect((await events.next('result')).result.id).toBe(1);
    await pause();
    expect(events.pending).toEqual([]);
  });
});

function withSpec(over: Partial<typeof MODEL.spec>): typeof MODEL {
  return { ...MODEL, spec: { ...MODEL.spec, ...over } };
}

function tensor(over: object): typeof MODEL {
  const { inputs } = MODEL.signature;
  return { ...MODEL, signature: { ...MODEL.signature, inputs: [{ ...inputs[0], ...over }, inputs[1]] } };
}

function state(present: readonly (readonly number[])[]): RemoteBehavior {
  return {
    instead: (heard) =>
      heard.body === 'quiesce'
        ? {
            body: 'state',
            state: {
              number: heard.quiesce.number,
              gpus: present.map((held) => ({ present: held })),
              changes: [],
            },
          }
        : undefined,
  };
}

function remoteThatAnswers(answer: (sent: { id: number }) => WorkerMessage): Promise<number> {
  return fakeRemote({
    instead: (heard) => (heard.body === 'actions' ? answer(heard.actions.actions[0]) : undefined),
  });
}

function wire(id: number, over: Partial<WireResult> = {}): WireResult {
  return { ...resultToWire(resultOf(infer(id))), id, ...over };
}

function result(id: number, over: Partial<WireResult>): WorkerMessage {
  return { body: 'results', results: { results: [wire(id, over)] } };
}
