import { describe, expect, it } from 'vitest';
import { monotonicNs } from '../../../../src/base/clock/clock.js';
import { NS_PER_S } from '../../../../src/base/units.js';
import type { ResultMessage } from '../../../../src/live/messages.js';
import type { Answer, WorkerMessage } from '../../../../src/live/wire/protocol.js';
import { DESCRIPTION, resultOf } from './fake-machine.js';
import { fakeRemote, type RemoteBehavior } from './fake-remote.js';
import { connectTo, infer, pause } from './fixtures.js';

const [MODEL] = DESCRIPTION.models;

describe('a controller', () => {
  it.each<[string, RemoteBehavior, string]>([
    ['has no GPUs', { description: { gpus: [] } }, 'description.gpus: '],
    ['has pages of no size', { description: { pageBytes: 0 } }, 'description.pageBytes: '],
    [
      'has no weights cache',
      { description: { gpus: [{ name: 'none', provider: 'cpu', pages: 0, oneLane: false }] } },
      'description.gpus.0.pages: ',
    ],
    ['takes days for an INFER', withSpec({ execNs: [1, 1, 1e15] }), 'spec.execNs.2: '],
    ['takes days for a LOAD', withSpec({ loadNs: 1e15 }), 'spec.loadNs: '],
    ['has endless batches', withSpec({ batchSizes: [1, 1e9], execNs: [1, 2] }), 'spec.batchSizes.1: '],
    ['has no pages', withSpec({ pages: 0 }), 'spec.pages: '],
    ['has two models of one name', { description: { models: [MODEL, MODEL] } }, 'two models have one name'],
    ['has a tensor whose size contradicts itself', tensor({ bytes: 4 }), 'inputs.0: impossible size'],
    ['has a tensor of negative size', tensor({ shape: [-7] }), 'inputs.0.shape.0: '],
    ['has a tensor of unknown type', tensor({ datatype: 'BF16' }), 'inputs.0.datatype: '],
    [
      'has said something that did not arrive',
      { loses: ({ body }) => body === 'lease' },
      'a message of the worker has number 3 instead of 2: others were lost in transit',
    ],
    ['holds a model that is not there', state([[7], []]), 'there is no model 7'],
    ['holds a model twice', state([[1, 1], []]), 'a model is on a GPU twice'],
    ['has more GPUs than it said', state([[], [], []]), '3 GPUs, not 2'],
    ['answers with another kind of value', answer(null), 'gives a wrong answer: '],
    ['answers with nested lists', answer([[[]]]), 'is not understood: value: '],
    [
      'answers a ping that was never sent',
      {
        instead: (heard) =>
          heard.body === 'ping' ? { body: 'pong', sentNs: 2 ** 50, workerNs: 1 } : undefined,
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
    ['for an action that it was not sent', () => result(77, {}), 'answers action 77 on GPU 0'],
    ['for another GPU', ({ id }) => result(id, { gpu: 1 }), 'answers action 1 on GPU 1'],
    [
      'twice',
      ({ id }) => ({ body: 'results', results: [said(id), said(id)] }),
      'answers action 1 on GPU 0, which has none of that number',
    ],
    ['with the end of a GPU it lacks', () => ({ body: 'gpuDown', gpu: 9, reason: '' }), 'has lost GPU 9'],
  ])('leaves a worker that answers %s', async (_, answer, words) => {
    const { worker, events } = connectTo(await remoteThatAnswers(answer));
    await events.next('up');
    worker.send([infer(1)]);
    expect((await events.next('down')).reason).toContain(words);
  });

  it.each<[string, Partial<ResultMessage>, string]>([
    ['too few outputs', { outputs: [] }, '0 outputs, echo has 2'],
    ['a short output', { outputs: [new Uint8Array(2), new Uint8Array(2)] }, '2 bytes of output same, not 3'],
    ['shapes of a model without free sizes', { shapes: [[3]] }, '1 shapes'],
  ])('takes %s for a failure of the device', async (_, over, words) => {
    const { worker, events } = connectTo(await remoteThatAnswers(({ id }) => result(id, over)));
    await events.next('up');
    worker.send([infer(1)]);
    const { result: heard } = await events.next('result');
    expect(heard).toMatchObject({ status: 98, outputs: [] });
    expect(heard.error).toContain(words);
  });

  it('believes no duration that it has not waited for', async () => {
    const endNs = monotonicNs();
    const { worker, events, nowNs } = connectTo(
      await remoteThatAnswers(({ id }) => result(id, { beginNs: endNs - 1000 * NS_PER_S, copyInNs: -5 })),
    );
    await events.next('up');
    const sentNs = nowNs();
    worker.send([infer(1)]);
    const { result: heard } = await events.next('result');
    expect(heard.status).toBe(0);
    expect(heard.endNs - heard.beginNs).toBeLessThan(nowNs() - sentNs + NS_PER_S);
    expect(heard.copyInNs).toBe(0);
  });
});

function withSpec(over: Partial<typeof MODEL.spec>): RemoteBehavior {
  return { description: { models: [{ ...MODEL, spec: { ...MODEL.spec, ...over } }] } };
}

function tensor(over: object): RemoteBehavior {
  const { inputs } = MODEL.signature;
  const signature = { ...MODEL.signature, inputs: [{ ...inputs[0], ...over }, inputs[1]] };
  return { description: { models: [{ ...MODEL, signature }] } };
}

function state(present: readonly (readonly number[])[]): RemoteBehavior {
  return answer({ present });
}

function answer(value: unknown): RemoteBehavior {
  return {
    instead: (heard) =>
      heard.body === 'ask' ? { body: 'answer', id: heard.id, value: value as Answer, error: '' } : undefined,
  };
}

function remoteThatAnswers(answer: (sent: { id: number }) => WorkerMessage): Promise<number> {
  return fakeRemote({
    instead: (heard) => (heard.body === 'actions' ? answer(heard.actions[0]) : undefined),
  });
}

function said(id: number, over: Partial<ResultMessage> = {}): ResultMessage {
  return { ...resultOf(infer(id)), id, ...over };
}

function result(id: number, over: Partial<ResultMessage>): WorkerMessage {
  return { body: 'results', results: [said(id, over)] };
}
