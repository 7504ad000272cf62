import { expect, it } from 'vitest';
import { EscapementError } from '../../src/base/errors.js';
import { type ModelList, NO_MODELS } from '../../src/live/model-list.js';
import { NameLabels } from '../../src/live/observe/telemetry/labels.js';
import type { SchedulingService } from '../../src/live/service.js';
import { DeployedService, servedAsFound } from '../../src/serve/deployed-service.js';
import { Deployment } from '../../src/serve/deployment.js';
import { ALL_MODELS, type ModelHost } from '../../src/serve/deployment-options.js';
import { ModelHandles } from '../../src/serve/model-handles.js';
import { type Deployed, ModelTable } from '../../src/serve/model-table.js';
import { smallModels } from './fixtures.js';

function table(...rows: readonly Partial<Deployed>[]): ModelTable {
  const made = new ModelTable(() => {});
  const served = { version: '1', state: 'ready', reason: '', handle: 0, model: null, digest: 'd' } as const;
  for (const row of rows) made.put({ ...served, name: 'm', ...row });
  return made;
}

const offer = (name: string, version = '1', digest = 'd') => ({ name, version, digest, isMeasured: true });
const list = (over: Partial<ModelList> = {}): ModelList => ({
  ...NO_MODELS,
  versions: [offer('m')],
  ...over,
});
const names = (rows: ModelTable, found: ModelList) => [...servedAsFound(rows, found)];

it('a model is as found when all that is offered of it is served, and nothing else', () => {
  expect(names(table({}), list())).toEqual(['m']);
  expect(names(table({ version: '1' }, { version: '2' }), list({ versions: [offer('m')] }))).toEqual([]);
  expect(names(table({}), list({ versions: [offer('m'), offer('m', '2')] }))).toEqual([]);
  expect(names(table({}, { name: 'n' }), list({ versions: [offer('m'), offer('n')] }))).toEqual(['m', 'n']);
});

it.each([
  ['with other files', { digest: 'e' }],
  ['not yet', { state: 'loading' }],
  ['with something to say', { reason: 'what is on disk is refused' }],
] as const)('a model that is served %s is not', (_, row) => {
  expect(names(table(row), list())).toEqual([]);
});

it('a model with a problem is not, and none is where a note may be about it', () => {
  const error = new EscapementError('E_CONFIG_KEY', 'no such key');
  expect(names(table({}), list({ problems: [{ name: 'm', version: '2', error }] }))).toEqual([]);
  expect(names(table({}), list({ notes: ['m: no effect'] }))).toEqual([]);
});

/** Serves these from its start, as a worker without a repository does. */
class Started implements ModelHost, SchedulingService {
  readonly asked: (string | null)[] = [];
  readonly away = [];
  readonly isOpen = false;
  readonly state;

  constructor(private readonly models: ReturnType<typeof smallModels>) {
    const entries = models.map((model, index) => {
      const { name } = model.spec;
      return { name, version: '1', isDefault: true, state: 'ready', reason: '', index, model } as const;
    });
    this.state = { notReady: null, entries };
  }

  async list(name: string | null): Promise<ModelList> {
    this.asked.push(name);
    const chosen = this.models.filter(({ spec }) => name === null || spec.name === name);
    return { ...NO_MODELS, versions: chosen.map(({ spec }) => offer(spec.name, '1', '')) };
  }

  untilUp = () => Promise.resolve();
  addModel = () => Promise.reject(new Error('all are there'));
  retireModel = () => Promise.resolve();
  infer = () => {};
  nowNs = () => 0;
  watch = () => () => {};
}

const EVENTS = { info: () => {}, warn: () => {} };

it('models that are adopted together are one change', () => {
  const host = new Started(smallModels(3, 1));
  const handles = new ModelHandles(host, () => {});
  let changes = 0;
  const deployment = new Deployment(host, handles, ALL_MODELS, EVENTS, () => changes++);
  deployment.adopt(host.state.entries);
  expect(changes).toBe(1);
  expect(deployment.table.all().map(({ handle }) => handle)).toEqual([0, 1, 2]);
});

it('a start with many models that are served already asks for them once, and tells of them once', async () => {
  const host = new Started(smallModels(500, 1));
  const labels = new NameLabels();
  const log = { info: () => {}, warn: () => {} };
  const service = new DeployedService(host, host, ALL_MODELS, log, () => [], labels);
  let changes = 0;
  service.watch(() => changes++);
  await service.start();
  service.close();
  expect(host.asked).toEqual([null]);
  // That it is ready.
  expect(changes).toBe(1);
  expect(service.state.notReady).toBeNull();
  expect(service.state.entries.map(({ state }) => state)).toEqual(host.state.entries.map(() => 'ready'));
});
