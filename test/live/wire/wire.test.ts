import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Metadata } from '@grpc/grpc-js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WorkerState } from '../../../src/live/messages.js';
import {
  actionFromWire,
  descriptionFromWire,
  resultFromWire,
  stateFromWire,
} from '../../../src/live/wire/from-wire.js';
import { helloFromHeaders, helloToHeaders } from '../../../src/live/wire/hello.js';
import { operatorsFromWire, operatorsToWire } from '../../../src/live/wire/operator-chunks.js';
import {
  CONTROLLER_MESSAGES,
  type ControllerMessage,
  PROTOCOL_VERSION,
  WORKER_MESSAGES,
  type WorkerMessage,
} from '../../../src/live/wire/protocol.js';
import {
  actionToWire,
  descriptionToWire,
  resultToWire,
  stateToWire,
  withinLimit,
} from '../../../src/live/wire/to-wire.js';
import { ACTION_FIELDS, RESULT_FIELDS } from '../arbitrary-messages.js';
import { DESCRIPTION } from '../controller/link/fake-machine.js';
import { operator } from '../controller/link/fixtures.js';

/** Encoded and decoded. */
function toWorker(message: ControllerMessage): ControllerMessage {
  return CONTROLLER_MESSAGES.decode(CONTROLLER_MESSAGES.encode({ ...message, number: 1 }));
}

function toController(message: WorkerMessage): WorkerMessage {
  return WORKER_MESSAGES.decode(WORKER_MESSAGES.encode({ ...message, number: 1 }));
}

const action = fc.record(ACTION_FIELDS, { noNullPrototype: true });
const result = fc.record(RESULT_FIELDS, { noNullPrototype: true });

describe('protocol', () => {
  it('carries actions bit for bit', () => {
    fc.assert(
      fc.property(fc.array(action), (actions) => {
        const message = toWorker({ body: 'actions', actions: { actions: actions.map(actionToWire) } });
        if (message.body !== 'actions') throw new Error(`came out as ${message.body}`);
        expect(message.actions.actions.map(actionFromWire)).toStrictEqual(actions);
      }),
    );
  });

  it('carries results bit for bit', () => {
    fc.assert(
      fc.property(fc.array(result), (results) => {
        const message = toController({ body: 'results', results: { results: results.map(resultToWire) } });
        if (message.body !== 'results') throw new Error(`came out as ${message.body}`);
        const carried = message.results.results.map(resultFromWire).map((each) => ({
          ...each,
          outputs: each.outputs.map((bytes) => new Uint8Array(bytes)),
        }));
        expect(carried).toStrictEqual(results);
      }),
    );
  });

  it('carries what is present on each GPU', () => {
    const state: WorkerState = { present: [[], [3, 1, 2], []] };
    const message = toController({ body: 'state', state: stateToWire(7, state) });
    if (message.body !== 'state') throw new Error(`came out as ${message.body}`);
    expect(message.state.number).toBe(7);
    expect(stateFromWire(message.state)).toStrictEqual(state);
  });

  it("carries a worker's description", () => {
    const message = toController({ body: 'welcome', welcome: descriptionToWire(DESCRIPTION, 5) });
    if (message.body !== 'welcome') throw new Error(`came out as ${message.body}`);
    expect(message.welcome.maxMessageBytes).toBe(5);
    expect(descriptionFromWire(message.welcome)).toStrictEqual(DESCRIPTION);
    const named = toController({
      body: 'welcome',
      welcome: descriptionToWire({ ...DESCRIPTION, kind: 't4' }, 5),
    });
    expect(named.body === 'welcome' && descriptionFromWire(named.welcome)).toStrictEqual({
      ...DESCRIPTION,
      kind: 't4',
    });
  });

  it('carries operators, in several messages if need be', () => {
    const runs = Array.from({ length: 5000 }, (_, i) =>
      operator(2 ** 40 + i, i % 2 === 0 ? -1 - i : 2 ** 52 + i),
    );
    const messages = [...operatorsToWire(9, runs)].map((operators) => {
      const bytes = WORKER_MESSAGES.encode({ body: 'operators', operators, number: 1 });
      expect(bytes.byteLength).toBeLessThan(200_000);
      const message = WORKER_MESSAGES.decode(bytes);
      if (message.body !== 'operators') throw new Error(`came out as ${message.body}`);
      expect(message.operators.number).toBe(9);
      return message.operators;
    });
    expect(messages.length).toBeGreaterThan(1);
    expect(messages.flatMap(operatorsFromWire)).toStrictEqual(runs);
    expect([...operatorsToWire(9, [])]).toEqual([]);
    const [first] = messages;
    for (const wrong of [{ node: first.node.map(() => 7000) }, { action: [1] }, { endNs: [] }])
      expect(() => operatorsFromWire({ ...first, ...wrong })).toThrow('is inconsistent');
  });

  it('carries the small messages', () => {
    const hello = { token: 'ünsichtbar', controller: 'a-controller', maxMessageBytes: 2 ** 33 };
    expect(helloFromHeaders(helloToHeaders(hello))).toEqual({ version: PROTOCOL_VERSION, ...hello });
    expect(helloFromHeaders(new Metadata())).toBeNull();
    expect(toWorker({ body: 'ping', ping: { sentNs: -5 } })).toMatchObject({
      body: 'ping',
      ping: { sentNs: -5 },
    });
    expect(toWorker({ body: 'bye', bye: {} })).toMatchObject({ body: 'bye' });
    expect(toWorker({ body: 'startRecording', startRecording: {} })).toMatchObject({
      body: 'startRecording',
    });
    const stopRecording = { number: 2 ** 40 };
    expect(toWorker({ body: 'stopRecording', stopRecording })).toMatchObject({
      body: 'stopRecording',
      stopRecording,
    });
    const recordingEnd = { number: 1, dropped: 2 ** 40, error: 'ärgerlich' };
    expect(toController({ body: 'recordingEnd', recordingEnd })).toMatchObject({
      body: 'recordingEnd',
      recordingEnd,
    });
    const pong = { sentNs: 0, workerNs: Number.MAX_SAFE_INTEGER };
    expect(toController({ body: 'pong', pong })).toMatchObject({ body: 'pong', pong });
  });

  it('gives tensors memory of their own, which another thread can take over', () => {
    const inputs = [new Uint8Array([1, 2, 3]), new Uint8Array([4])];
    const given = {
      id: 1,
      gpu: 0,
      kind: 2,
      model: 0,
      batchIndex: 0,
      count: 1,
      earliestNs: 0,
      inputs,
    } as const;
    const message = toWorker({ body: 'actions', actions: { actions: [given] } });
    if (message.body !== 'actions') throw new Error(`came out as ${message.body}`);
    const { inputs: taken } = actionFromWire(message.actions.actions[0]);
    expect(taken.map(({ buffer }) => buffer.byteLength)).toEqual([3, 1]);
  });

  it('refuses a description that cannot be used', () => {
    const welcome = descriptionToWire(DESCRIPTION, 5);
    const [model] = welcome.models;
    const strange = { name: 'x', datatype: 'BF16', shape: [], bytes: 2 };
    const withTensor = { ...model, signature: { ...model.signature, inputs: [strange] } };
    expect(() => descriptionFromWire({ ...welcome, models: [withTensor] })).toThrow('unknown type BF16');
    const withSpec = { ...model, spec: { ...model.spec, pages: 0 } };
    expect(() => descriptionFromWire({ ...welcome, models: [withSpec] })).toThrow('needs at least one page');
  });

  it('turns outputs that are too large for the controller into an error', () => {
    const large = {
      id: 1,
      gpu: 0,
      status: 0,
      beginNs: 1,
      endNs: 2,
      copyInNs: 0,
      copyOutNs: 0,
      outputs: [new Uint8Array(10_000)],
      error: '',
    };
    expect(withinLimit(large, 20_000)).toBe(large);
    expect(withinLimit(large, 10_000)).toMatchObject({ id: 1, status: 98, outputs: [] });
    expect(withinLimit(large, 10_000).error).toContain('10000 bytes');
  });

  it('ships its file with the package', () => {
    const root = fileURLToPath(new URL('../../..', import.meta.url));
    const args = ['pack', '--dry-run', '--ignore-scripts', '--json'];
    const [packed] = JSON.parse(
      execFileSync('npm', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    );
    const paths = packed.files.map(({ path }: { path: string }) => path);
    expect(paths).toContain('src/live/wire/worker.proto');
    // It is looked for three folders above the module that reads it.
    expect(paths).toContain('dist/live/wire/protocol.js');
  });
});
