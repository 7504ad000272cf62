import { expect, it } from 'vitest';
import type { ModelEntry } from '../../src/live/service.js';
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
