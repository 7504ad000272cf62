import { expect, it } from 'vitest';
import { EscapementError } from '../../src/base/errors.js';
import type { ModelEntry } from '../../src/live/service.js';
import { clientReason, noneServed } from '../../src/serve/model-errors.js';
import { modelStates } from '../../src/serve/server.js';

it.each<[ModelEntry['state'], string, string]>([
  ['ready', '', 'ready'],
  ['ready', 'serves the model loaded before; its replacement is rejected: no such file', 'outdated'],
  ['loading', 'being measured', 'loading'],
  ['unloading', 'being unloaded', 'unloading'],
  ['unavailable', 'unloaded', 'unloaded'],
  ['unavailable', 'unloaded; its files cannot be loaded: no such file', 'unloaded'],
  ['unavailable', 'not available: no such file', 'unavailable'],
])('a version that is %s (%j) counts as %s', (state, reason, counted) => {
  const entry: ModelEntry = {
    name: 'm',
    version: '1',
    isDefault: true,
    state,
    reason,
    index: -1,
    model: null,
  };
  expect(modelStates({ notReady: null, entries: [entry] })).toEqual([{ name: 'm', state: counted }]);
});

const device = (what: string) => new EscapementError('E_DEVICE', what);

it('says once what is the same for all models', () => {
  const problem = device('cuda needs libraries');
  expect(noneServed([problem, problem, problem])).toMatchObject({
    code: 'E_DEVICE',
    message: 'none of the 3 models can be served: cuda needs libraries',
  });
});

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
