import { expect, it } from 'vitest';
import { EscapementError } from '../../src/base/errors.js';
import { ModelLabels } from '../../src/live/observe/telemetry/labels.js';
import { clientReason, noneServed } from '../../src/serve/model-errors.js';
import { type Deployed, ModelTable, NOT_SERVED } from '../../src/serve/model-table.js';
import { modelStates } from '../../src/serve/server.js';

it.each<[Deployed['status'], problem: string, state: string, reason: string, counted: string]>([
  ['ready', '', 'ready', '', 'ready'],
  ['ready', 'x', 'ready', 'serves the model loaded before; its replacement is rejected: x', 'outdated'],
  ['measuring', '', 'loading', 'being measured', 'loading'],
  ['unloading', '', 'unloading', 'being unloaded', 'unloading'],
  ['unloaded', '', 'unavailable', 'unloaded', 'unloaded'],
  ['unloaded', 'x', 'unavailable', 'unloaded; its files cannot be loaded: x', 'unloaded'],
  ['withdrawn', 'x', 'unavailable', 'unloaded; it was not available: x', 'unloaded'],
  ['failed', 'x', 'unavailable', 'not available: x', 'unavailable'],
])(
  'a version that is %s (%j) is shown as %s (%j), and counted as %s',
  (status, problem, state, reason, counted) => {
    const table = new ModelTable(() => {});
    table.put({ ...NOT_SERVED, name: 'm', version: '1', status, problem });
    const entries = table.entries(new ModelLabels(), () => ({}));
    expect(entries).toMatchObject([{ name: 'm', version: '1', isDefault: true, state, reason, index: -1 }]);
    expect(modelStates({ notReady: null, entries })).toEqual([{ name: 'm', state: counted }]);
  },
);

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
