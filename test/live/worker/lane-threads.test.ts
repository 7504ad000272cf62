import { expect, it } from 'vitest';
import { DEFAULT_SESSION, type Provider } from '../../../src/live/device.js';
import { LocalMachine } from '../../../src/live/worker/local-machine.js';
import { PAGE_BYTES, profiled } from './fixtures.js';

/** Host threads of a GPU, and whether its controller is asked to book one lane; nothing is started. */
function lanes(kind: Provider, laneThreads: number, models: number) {
  const { executors, description } = new LocalMachine({
    devices: [{ kind, adapter: 0, session: { ...DEFAULT_SESSION, laneThreads } }],
    models: Array.from({ length: models }, (_, i) => profiled(`m${i}`)),
    pages: 6,
    pageBytes: PAGE_BYTES,
  });
  return { hosts: executors[0]?.spec.hosts, oneLane: description.gpus[0]?.oneLane };
}

it.each([
  ['cpu', 8, 20, { hosts: 8, oneLane: false }],
  ['cpu', 16, 20, { hosts: 16, oneLane: false }],
  ['cpu', 16, 3, { hosts: 3, oneLane: false }],
  ['cuda', 1, 20, { hosts: 1, oneLane: true }],
  ['webgpu', 8, 20, { hosts: 1, oneLane: true }],
] as const)('%s with %d lane threads and %d models: %j', (kind, laneThreads, models, expected) => {
  expect(lanes(kind, laneThreads, models)).toEqual(expected);
});
