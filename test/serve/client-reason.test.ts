import { expect, it } from 'vitest';
import { EscapementError } from '../../src/base/errors.js';
import { clientReason } from '../../src/serve/client-reason.js';

it.each([
  [
    '/srv/models',
    new EscapementError('E_CONFIG_VALUE', 'must be positive', {
      file: '/srv/models/m/config.yaml',
      line: 2,
      key: 'slo',
    }),
    'm/config.yaml:2: slo: must be positive',
  ],
  [
    'models',
    new Error('Load model from models/m/1/model.onnx failed'),
    'Load model from m/1/model.onnx failed',
  ],
  ['./models/', new Error("open 'models/m/1/x.ort', not mymodels/m"), "open 'm/1/x.ort', not mymodels/m"],
  ['/srv/models', new Error('Protobuf parsing failed.'), 'Protobuf parsing failed'],
  ['/srv/my models', new Error('/srv/my models/m/1: no such file'), 'm/1: no such file'],
  ['/srv/models', new Error("open '/home/op/.cache/escapement/a.ort'"), "open 'a.ort'"],
  [
    '/srv/models',
    new Error('make one with --repository /srv/models --name m'),
    'make one with --repository models --name m',
  ],
  [
    '/srv/models',
    new Error('sizes [2/3] of 1/2, a ratio of 3 / 4, https://x.example/y'),
    'sizes [2/3] of 1/2, a ratio of 3 / 4, https://x.example/y',
  ],
])('in %s, %s becomes a reason without whole paths', (repository, error, reason) => {
  expect(clientReason(error, [repository])).toBe(reason);
});
