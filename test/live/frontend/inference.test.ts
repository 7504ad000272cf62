import { expect, it } from 'vitest';
import { decodeBody } from '../../../src/live/frontend/http-body.js';
import { echoModel } from './fake-service.js';
import { tensor } from './fixtures.js';

const LIMITS = { maxBatch: 256, maxBodyBytes: 1e6, maxJsonBytes: 1e6, defaultSloNs: 1, classes: [] };
const MODELS = [
  echoModel('mlp', true, [['x', 'FP32', [4]]]),
  echoModel('two', false, [
    ['a', 'INT8', [2]],
    ['b', 'BOOL', [2]],
  ]),
  echoModel('pair', true, [
    ['a', 'INT8', [1]],
    ['b', 'INT8', [1]],
  ]),
  echoModel('free', false, [
    ['f', 'FP32', [-1, 2]],
    ['t', 'BYTES', [1]],
  ]),
];
const X = tensor('x', 'FP32', [1, 4], [1, 2, 3, 4]);
const A = tensor('a', 'INT8', [2], [1, 2]);
const B = tensor('b', 'BOOL', [2], [true, false]);
const F = tensor('f', 'FP32', [1, 2], [1, 2]);

/** By model, and by what each is refused with. */
const WRONG: Record<string, Record<string, unknown>> = {
  mlp: {
    'the body is not a JSON object: [1]': '[1]',
    'inputs is missing: expected an array of tensors': {},
    'inputs: expected an object, got null': { inputs: [null] },
    'input "x": expected FP32 [n,4] with n from 1 to 256, got FP64 [1,4]': {
      inputs: [{ ...X, datatype: 'FP64' }],
    },
    'input "x": expected FP32 [n,4] with n from 1 to 256, got FP32 [257,4]': {
      inputs: [{ ...X, shape: [257, 4] }],
    },
    'input "x": data is missing': { inputs: [{ ...X, data: undefined }] },
    'input "x": data is not an array': { inputs: [{ ...X, data: 1 }] },
    'input "x": expected 4 elements, got 1': { inputs: [{ ...X, data: [1] }] },
    'input "x": data is nested otherwise than its shape [1,4]: expected 1 element in dimension 0, got 2': {
      inputs: [
        {
          ...X,
          data: [
            [1, 2],
            [3, 4],
          ],
        },
      ],
    },
    'input "x": element 1 is "2", expected a number within the range of FP32': {
      inputs: [{ ...X, data: [1, '2', 3, 4] }],
    },
    'id: expected a string, got 7': { inputs: [X], id: 7 },
    'parameter slo_ms: expected a number above 0 and up to 86400000, got "5"': {
      inputs: [X],
      parameters: { slo_ms: '5' },
    },
    'parameter timeout: expected a number above 0 and up to 86400000000, got -1': {
      inputs: [X],
      parameters: { timeout: -1 },
    },
    'input "x": parameter "shared_memory_region" is not supported, only binary_data_size': {
      inputs: [{ ...X, data: undefined, parameters: { shared_memory_region: 'r' } }],
    },
    'output "out-x": classification: expected a number of classes, got "2"': {
      inputs: [X],
      outputs: [{ name: 'out-x', parameters: { classification: '2' } }],
    },
    'output "out-x": named twice': { inputs: [X], outputs: [{ name: 'out-x' }, { name: 'out-x' }] },
    'parameter sequence_id: models with state between requests are not supported': {
      inputs: [X],
      parameters: { sequence_id: 7 },
    },
    'parameter "wish" is not supported; a request may have slo_ms and timeout': {
      inputs: [X],
      parameters: { wish: 1 },
    },
    'input "x": binary_data_size is 16, but 0 bytes are left': {
      inputs: [{ ...X, data: undefined, parameters: { binary_data_size: 16 } }],
    },
    'input "x": has both data and binary_data_size': {
      inputs: [{ ...X, parameters: { binary_data_size: 16 } }],
    },
    'inputs: expected an array, got 7': { inputs: 7 },
    'an input has no name: expected one of model mlp ("x")': { inputs: [{ ...X, name: undefined }] },
    'input "x": expected FP32 [n,4] with n from 1 to 256, got FP32 and no shape': {
      inputs: [{ ...X, shape: undefined }],
    },
    'input "x": expected FP32 [n,4] with n from 1 to 256, got no datatype [1,4]': {
      inputs: [{ ...X, datatype: null }],
    },
    'an output has no name: expected one of model mlp ("out-x")': { inputs: [X], outputs: [{}] },
  },
  two: {
    'input "x": not an input of model two ("a", "b")': { inputs: [X] },
    'input "b": missing, expected BOOL [2]': { inputs: [A] },
    'input "a": given twice': { inputs: [A, A] },
    'input "b": element 1 is 2, expected true or false': { inputs: [A, { ...B, data: [true, 2] }] },
    'output "c": not an output of model two ("out-a", "out-b")': { inputs: [A, B], outputs: [{ name: 'c' }] },
  },
  free: {
    'input "f": expected FP32 [-1,2] with any size for -1, got FP32 [1,3]': {
      inputs: [{ ...F, shape: [1, 3] }],
    },
    'input "t": expected BYTES [1], got BYTES [2]': { inputs: [tensor('t', 'BYTES', [2], ['a', 'b'])] },
    'input "f": 8000000 bytes are more than the largest body, 1000000 bytes': {
      inputs: [{ ...F, shape: [1e6, 2], data: [] }],
    },
  },
  pair: {
    'input "b": expected a batch of 2 like the inputs before it, got 1': {
      inputs: [tensor('a', 'INT8', [2, 1], [1, 2]), tensor('b', 'INT8', [1, 1], [1])],
    },
  },
};

it.each([
  ...Object.entries(WRONG).flatMap(([model, requests]) =>
    Object.entries(requests).map(([message, json]) => [model, json, message] as const),
  ),
  ['mlp', '{"inputs":', /^the body is not JSON: /],
  ['mlp', '', /^the body is not JSON: /],
  ['mlp', { inputs: [{ ...X, shape: 'x'.repeat(500) }] }, /got FP32 "x{79}…$/],
  [
    'mlp',
    { inputs: [X], parameters: { priority: 1 } },
    /^parameter priority: this server has no classes: send 0 or none, .*, got 1$/,
  ],
  ['mlp', { inputs: [X], parameters: { slo: 1 } }, /"slo".*; did you mean slo_ms\?$/],
] as const)('a request to %s is refused with what was expected and what came: %j', (name, json, message) => {
  const body = typeof json === 'string' ? json : JSON.stringify(json);
  const text = typeof message === 'string' ? message : expect.stringMatching(message);
  expect(() => decode(body, name)).toThrow(expect.objectContaining({ name: 'ApiError', message: text }));
});

const binary = (bytes: number) =>
  JSON.stringify({ inputs: [{ ...X, data: undefined, parameters: { binary_data_size: bytes } }] });

it.each([
  ['more than the body', '{}', '999', /expected at most the body's 2 bytes, got "999"$/],
  ['no number', '{}', '-1', /got "-1"$/],
  ['less than the JSON', JSON.stringify({ inputs: [X] }), '5', /^the body is not JSON/],
  // Also where the rest would fit.
  [
    'that of JSON before too few bytes',
    `${binary(2 ** 32 + 4)}${'\0'.repeat(16)}`,
    String(binary(2 ** 32 + 4).length),
    /^input "x": binary_data_size is 4294967300, but 16 bytes are left$/,
  ],
  [
    'that of JSON before bytes that belong to no input',
    `${binary(16)}${'\0'.repeat(20)}`,
    String(binary(16).length),
    /^the body has 4 bytes of binary data that belong to no input$/,
  ],
  ['of no UTF-8', Buffer.from([0x22, 0xff, 0xc0, 0x22]), '4', /^the body is not UTF-8$/],
])('a length of the JSON that is %s is refused', (_, body, length, message) => {
  expect(() => decode(body, 'mlp', length)).toThrow(
    expect.objectContaining({ name: 'ApiError', message: expect.stringMatching(message) }),
  );
});

function decode(sent: string | Buffer, name: string, jsonHeader?: string) {
  const model = MODELS.find(({ spec }) => spec.name === name) as (typeof MODELS)[0];
  return decodeBody({ pieces: [Buffer.from(sent)], compression: null, jsonHeader, model, limits: LIMITS });
}
