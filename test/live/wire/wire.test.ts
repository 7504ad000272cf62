import { crc32 } from 'node:zlib';
import { Metadata } from '@grpc/grpc-js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EscapementError } from '../../../src/base/errors.js';
import { withinLimit } from '../../../src/live/wire/chunks.js';
import { stateOf } from '../../../src/live/wire/description.js';
import { helloFromHeaders, helloToHeaders } from '../../../src/live/wire/hello.js';
import {
  CONTROLLER_MESSAGES,
  type ControllerMessage,
  LEASE_MESSAGES,
  modelListFromWire,
  modelListToWire,
  PROTOCOL_VERSION,
  REGISTRATION_MESSAGES,
  WORKER_MESSAGES,
  type WorkerMessage,
} from '../../../src/live/wire/protocol.js';
import { ACTION_FIELDS, RESULT_FIELDS } from '../arbitrary-messages.js';
import { DESCRIPTION, STATE } from '../controller/link/fake-machine.js';
import { infer } from '../controller/link/fixtures.js';

/** Encoded and decoded. */
function toWorker(message: ControllerMessage): unknown {
  return plain(CONTROLLER_MESSAGES.decode(CONTROLLER_MESSAGES.encode({ ...message, number: 1 })));
}

function toController(message: WorkerMessage): unknown {
  return plain(WORKER_MESSAGES.decode(WORKER_MESSAGES.encode({ ...message, number: 1 })));
}

/** Decoded tensors are parts of their message. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]));
}

const action = fc.record(ACTION_FIELDS, { noNullPrototype: true });
const result = fc.record(RESULT_FIELDS, { noNullPrototype: true });
/** As a stranger may write it. */
function framed(text: string, tensors = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32LE(Buffer.byteLength(text));
  return sealed(Buffer.concat([head, Buffer.from(text), tensors]));
}

/** With a checksum. */
function sealed(content: Buffer): Buffer {
  const bytes = Buffer.concat([content, Buffer.alloc(4)]);
  bytes.writeUInt32LE(crc32(content), content.length);
  return bytes;
}

function asked(name: string): Buffer {
  return framed(`{"body":"ask","id":1,"question":{"what":"listModels","name":"${name}"},"number":1}`);
}

describe('protocol', () => {
  it('carries actions and results bit for bit', () => {
    fc.assert(
      fc.property(fc.array(action), fc.array(result), (actions, results) => {
        expect(toWorker({ body: 'actions', actions })).toEqual({ body: 'actions', actions, number: 1 });
        expect(toController({ body: 'results', results })).toEqual({ body: 'results', results, number: 1 });
      }),
    );
  });

  it.each<ControllerMessage | WorkerMessage>([
    { body: 'take', term: 2 ** 40 },
    { body: 'ping', sentNs: -5 },
    { body: 'bye' },
    { body: 'ask', id: 1, question: { what: 'listModels', name: null } },
    {
      body: 'ask',
      id: 2 ** 40,
      question: { what: 'changeModel', index: 3, reference: { name: 'ä', version: '1', digest: '' } },
    },
    { body: 'welcome', description: DESCRIPTION, maxMessageBytes: 2 ** 33 },
    { body: 'welcome', description: { ...DESCRIPTION, kind: 't4', instance: 'one' }, maxMessageBytes: 1 },
    { body: 'lease', term: 0, controller: '' },
    // Half a year after the machine started.
    { body: 'pong', sentNs: 0, workerNs: 1.6e16 },
    { body: 'gpuDown', gpu: 1, reason: 'ärgerlich' },
    { body: 'answer', id: 1, value: STATE, error: '' },
  ])('carries $body', (message) => {
    const isOrder = ['take', 'ping', 'bye', 'ask'].includes(message.body);
    const carried = isOrder ? toWorker(message as ControllerMessage) : toController(message as WorkerMessage);
    expect(carried).toStrictEqual({ ...message, number: 1 });
  });

  it('carries registrations and headers', () => {
    const register = { body: 'register', address: '', port: 8003, instance: 'one', number: 1 } as const;
    expect(REGISTRATION_MESSAGES.decode(REGISTRATION_MESSAGES.encode(register))).toEqual(register);
    const lease = { leaseMs: 5000, joined: true, problem: 'ä', number: 1 };
    expect(LEASE_MESSAGES.decode(LEASE_MESSAGES.encode(lease))).toEqual(lease);
    const hello = { token: 'ünsichtbar', controller: 'a-controller', maxMessageBytes: 2 ** 33 };
    expect(helloFromHeaders(helloToHeaders(hello))).toEqual({ version: PROTOCOL_VERSION, ...hello });
    expect(helloFromHeaders(new Metadata())).toBeNull();
  });

  it('carries lists of models without paths', () => {
    const error = new EscapementError('E_MODEL_FILE', 'is empty', { file: '/secret/m' });
    const problems = [{ name: 'm', version: null, error }];
    const versions = [{ name: 'n', version: '1', digest: 'd', isMeasured: true, standsIn: true }];
    const tensor = { name: 'x', datatype: 'FP32', shape: [-1, 2] } as const;
    const step = { model: 'n', version: null, inputs: { a: 'x' }, outputs: { b: 'y' } };
    const ensemble = { name: 'e', sloNs: 5, steps: [step], inputs: [tensor], outputs: [tensor], maxBatch: 4 };
    const list = { versions, problems, ensembles: [ensemble], skipped: ['s'], notes: [] };
    const sent = JSON.stringify(modelListToWire(list));
    expect(sent).not.toContain('secret');
    const heard = modelListFromWire(JSON.parse(sent));
    expect(heard).toMatchObject({
      versions,
      ensembles: [ensemble],
      skipped: ['s'],
      problems: [{ error: { what: 'is empty' } }],
    });
  });

  it.each([
    ['no JSON', framed('{'), 'is not understood: '],
    ['a text that is longer than the whole', sealed(Buffer.from([9, 0, 0, 0])), 'has a text of 9 bytes'],
    ['too long a text', framed(' '.repeat(2 ** 21 + 1)), 'has a text of 2097153 bytes'],
    ['too many parts', framed(`[${'1,'.repeat(1_000_000)}1]`), 'has more than 1000000 parts'],
    ['too long a name', asked('a'.repeat(2 ** 16 + 1)), 'is not understood: question.name: '],
    ['no number', framed('{"body":"bye"}'), 'is not understood: number: '],
    ['a time that is no number', framed('{"body":"ping","sentNs":"0","number":1}'), 'sentNs: '],
    ['an unknown body', framed('{"body":"dance","number":1}'), 'is not understood: body: '],
    ['no object', framed('7'), 'is not understood: Invalid input: expected object'],
    ['a list', framed('[]'), 'is not understood: Invalid input: expected object'],
    ['a missing field', framed('{"body":"ping","number":1}'), 'is not understood: sentNs: '],
    ['too few tensors', framed('{"body":"actions","actions":[],"number":1}', Buffer.alloc(3)), 'other sizes'],
    ['a term beyond all others', framed(`{"body":"take","term":${2 ** 52 + 1},"number":1}`), 'term: '],
    ['a term of 0', framed('{"body":"take","term":0,"number":1}'), 'is not understood: term: '],
  ])('refuses a message with %s', (_, bytes, words) => {
    expect(() => CONTROLLER_MESSAGES.decode(bytes)).toThrow(words);
  });

  const million = (item: string) => Array(990_000).fill(item).join();
  it.each([
    ['results of nothing', `"body":"results","results":[${million('{}')}]`, 'results.0.id: '],
    [
      'texts instead of sizes',
      `"body":"fetched","results":[{"key":1,"outputs":[${million('""')}]}]`,
      'results.0.outputs: ',
    ],
    ['models of nothing', `"body":"welcome","description":{"models":[${million('{}')}]}`, 'description.'],
    ['nested lists', `"body":"answer","id":1,"value":${'['.repeat(1e6)}${']'.repeat(1e6)}`, 'value: '],
  ])('refuses a million %s within the memory of a few', (_, text, words) => {
    const bytes = framed(`{${text},"number":1}`);
    const before = process.memoryUsage().heapTotal;
    expect(() => WORKER_MESSAGES.decode(bytes)).toThrow(words);
    // A description of each mistake would take gigabytes.
    expect(process.memoryUsage().heapTotal - before).toBeLessThan(400e6);
  });

  it('cuts texts for people', () => {
    const long = toController({ body: 'gpuDown', gpu: 0, reason: 'a'.repeat(1e6) });
    expect(long).toMatchObject({ reason: 'a'.repeat(2000) });
  });

  it('refuses a message with any flipped bit', () => {
    const message = CONTROLLER_MESSAGES.encode({ body: 'actions', actions: [infer(1)], number: 1 });
    for (let at = 0; at < message.length; at++) {
      const damaged = Buffer.from(message);
      damaged[at] ^= 1 << (at % 8);
      expect(() => CONTROLLER_MESSAGES.decode(damaged)).toThrow('damaged');
    }
  });

  it('refuses a state that is none', () => {
    expect(stateOf(STATE, DESCRIPTION)).toEqual(STATE);
    expect(() => stateOf({ present: 'none' }, DESCRIPTION)).toThrow('present: ');
  });

  it('turns outputs that are too large for the controller into an error', () => {
    const times = { beginNs: 1, endNs: 2, copyInNs: 0, copyOutNs: 0 };
    const large = { id: 1, gpu: 0, status: 0, ...times, outputs: [new Uint8Array(10_000)], error: '' };
    expect(withinLimit(large, 20_000)).toBe(large);
    expect(withinLimit(large, 10_000)).toMatchObject({ id: 1, status: 98, outputs: [] });
    expect(withinLimit(large, 10_000).error).toContain('10000 bytes');
  });
});
