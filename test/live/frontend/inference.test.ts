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

it.each([
  ['no JSON', 'mlp', '{"inputs":', /^the body is not JSON: /],
  ['nothing', 'mlp', '', /^the body is not JSON: /],
  ['no object', 'mlp', '[1]', 'the body is not a JSON object: [1]'],
  ['no inputs', 'mlp', {}, 'inputs is missing: expected an array of tensors'],
  ['an input that is none', 'mlp', { inputs: [null] }, 'inputs: expected an object, got null'],
  ['an unknown input', 'two', { inputs: [X] }, 'input "x": not an input of model two ("a", "b")'],
  ['a missing input', 'two', { inputs: [A] }, 'input "b": missing, expected BOOL [2]'],
  ['an input twice', 'two', { inputs: [A, A] }, 'input "a": given twice'],
  [
    'another datatype',
    'mlp',
    { inputs: [{ ...X, datatype: 'FP64' }] },
    'input "x": expected FP32 [n,4] with n from 1 to 256, got FP64 [1,4]',
  ],
  [
    'another shape',
    'mlp',
    { inputs: [{ ...X, shape: [4] }] },
    'input "x": expected FP32 [n,4] with n from 1 to 256, got FP32 [4]',
  ],
  [
    'too large a batch',
    'mlp',
    { inputs: [{ ...X, shape: [257, 4] }] },
    'input "x": expected FP32 [n,4] with n from 1 to 256, got FP32 [257,4]',
  ],
  [
    'an empty batch',
    'mlp',
    { inputs: [{ ...X, shape: [0, 4], data: [] }] },
    'input "x": expected FP32 [n,4] with n from 1 to 256, got FP32 [0,4]',
  ],
  ['a shape that is none', 'mlp', { inputs: [{ ...X, shape: 'x'.repeat(500) }] }, /got FP32 "x{79}…$/],
  ['no data', 'mlp', { inputs: [{ ...X, data: undefined }] }, 'input "x": data is missing'],
  ['data that is no array', 'mlp', { inputs: [{ ...X, data: 1 }] }, 'input "x": data is not an array'],
  ['too few elements', 'mlp', { inputs: [{ ...X, data: [1] }] }, 'input "x": expected 4 elements, got 1'],
  [
    'other nesting than the shape',
    'mlp',
    {
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
    'input "x": data is nested otherwise than its shape [1,4]: expected 1 element in dimension 0, got 2',
  ],
  [
    'a list of lists for a shape of one size',
    'two',
    { inputs: [{ ...A, data: [[1, 2]] }, B] },
    'input "a": data is nested otherwise than its shape [2]: expected 2 elements in dimension 0, got 1',
  ],
  [
    'an element of another kind',
    'mlp',
    { inputs: [{ ...X, data: [1, '2', 3, 4] }] },
    'input "x": element 1 is "2", expected a number within the range of FP32',
  ],
  [
    'an element out of range',
    'two',
    { inputs: [{ ...A, data: [1, 128] }, B] },
    'input "a": element 1 is 128, expected a whole number from -128 to 127',
  ],
  [
    'a number where a truth value belongs',
    'two',
    { inputs: [A, { ...B, data: [true, 2] }] },
    'input "b": element 1 is 2, expected true or false',
  ],
  ['an id that is no text', 'mlp', { inputs: [X], id: 7 }, 'id: expected a string, got 7'],
  [
    'an unknown output',
    'two',
    { inputs: [A, B], outputs: [{ name: 'c' }] },
    'output "c": not an output of model two ("out-a", "out-b")',
  ],
  [
    'an SLO that is none',
    'mlp',
    { inputs: [X], parameters: { slo_ms: '5' } },
    'parameter slo_ms: expected a number above 0 and up to 86400000, got "5"',
  ],
  [
    'an SLO that was over before it began',
    'mlp',
    { inputs: [X], parameters: { timeout: -1 } },
    'parameter timeout: expected a number above 0 and up to 86400000000, got -1',
  ],
  [
    'shared memory',
    'mlp',
    { inputs: [{ ...X, data: undefined, parameters: { shared_memory_region: 'r' } }] },
    'input "x": parameter "shared_memory_region" is not supported, only binary_data_size',
  ],
  [
    'a classification that is none',
    'mlp',
    { inputs: [X], outputs: [{ name: 'out-x', parameters: { classification: '2' } }] },
    'output "out-x": classification: expected a number of classes, got "2"',
  ],
  [
    'an output twice',
    'mlp',
    { inputs: [X], outputs: [{ name: 'out-x' }, { name: 'out-x' }] },
    'output "out-x": named twice',
  ],
  [
    'a priority',
    'mlp',
    { inputs: [X], parameters: { priority: 1 } },
    /^parameter priority: this server has no classes: send 0 or none, .*, got 1$/,
  ],
  [
    'a sequence',
    'mlp',
    { inputs: [X], parameters: { sequence_id: 7 } },
    'parameter sequence_id: models with state between requests are not supported',
  ],
  [
    'an SLO by another name',
    'mlp',
    { inputs: [X], parameters: { slo: 1 } },
    /"slo".*; did you mean slo_ms\?$/,
  ],
  [
    'an unknown wish',
    'mlp',
    { inputs: [X], parameters: { wish: 1 } },
    'parameter "wish" is not supported; a request may have slo_ms and timeout',
  ],
  [
    'a shape without data',
    'mlp',
    { inputs: [{ ...X, shape: [256, 4], data: [] }] },
    'input "x": expected 1024 elements, got 0',
  ],
  [
    'binary data that is not there',
    'mlp',
    { inputs: [{ ...X, data: undefined, parameters: { binary_data_size: 16 } }] },
    'input "x": binary_data_size is 16, but 0 bytes are left',
  ],
  [
    'data twice',
    'mlp',
    { inputs: [{ ...X, parameters: { binary_data_size: 16 } }] },
    'input "x": has both data and binary_data_size',
  ],
  ['inputs that are none', 'mlp', { inputs: 7 }, 'inputs: expected an array, got 7'],
  [
    'an input without a name',
    'mlp',
    { inputs: [{ ...X, name: undefined }] },
    'an input has no name: expected one of model mlp ("x")',
  ],
  [
    'an input without a shape',
    'mlp',
    { inputs: [{ ...X, shape: undefined }] },
    'input "x": expected FP32 [n,4] with n from 1 to 256, got FP32 and no shape',
  ],
  [
    'an input without a datatype',
    'mlp',
    { inputs: [{ ...X, datatype: null }] },
    'input "x": expected FP32 [n,4] with n from 1 to 256, got no datatype [1,4]',
  ],
  [
    'a datatype that is none',
    'two',
    { inputs: [{ ...A, datatype: 'char' }] },
    'input "a": expected INT8 [2], got "char" [2]',
  ],
  [
    'another size where one is free',
    'free',
    { inputs: [{ ...F, shape: [1, 3] }] },
    'input "f": expected FP32 [-1,2] with any size for -1, got FP32 [1,3]',
  ],
  [
    'another size where none is free',
    'free',
    { inputs: [tensor('t', 'BYTES', [2], ['a', 'b'])] },
    'input "t": expected BYTES [1], got BYTES [2]',
  ],
  [
    'a size beyond the largest body',
    'free',
    { inputs: [{ ...F, shape: [1e6, 2], data: [] }] },
    'input "f": 8000000 bytes are more than the largest body, 1000000 bytes',
  ],
  [
    'inputs of different batches',
    'pair',
    { inputs: [tensor('a', 'INT8', [2, 1], [1, 2]), tensor('b', 'INT8', [1, 1], [1])] },
    'input "b": expected a batch of 2 like the inputs before it, got 1',
  ],
  [
    'an output without a name',
    'mlp',
    { inputs: [X], outputs: [{}] },
    'an output has no name: expected one of model mlp ("out-x")',
  ],
])('a request with %s is refused with what was expected and what came', (_, name, json, message) => {
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
