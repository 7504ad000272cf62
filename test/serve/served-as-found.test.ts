import { expect, it, vi } from 'vitest';
import type { ModelReference } from '../../src/live/model-list.js';
import { type ModelList, NO_MODELS } from '../../src/live/model-list.js';
import { ModelLabels } from '../../src/live/observe/telemetry/labels.js';
import type { SchedulingService } from '../../src/live/service.js';
import { ALL_MODELS, type ModelHost } from '../../src/serve/deployment-options.js';
import { ModelService } from '../../src/serve/model-service.js';
import { smallModels } from './fixtures.js';

const offer = (name: string, version = '1', digest = 'd') => ({ name, version, digest, isMeasured: true });

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
  takeOver = () => {};
  addModel = () => Promise.reject(new Error('all are there'));
  spread = () => Promise.resolve();
  putPipeline = () => -1;
  retireModel = () => Promise.resolve();
  infer = () => {};
  nowNs = () => 0;
  watch = () => () => {};
}

it('a start with many models that are served already asks for them once, and tells of them once', async () => {
  const host = new Started(smallModels(500, 1));
  const log = { info: () => {}, warn: () => {} };
  const service = new ModelService(ALL_MODELS, log, new ModelLabels(), host.nowNs);
  service.attach(host, host, { read: () => [], listed: () => {} });
  let changes = 0;
  service.watch(() => changes++);
  await service.start();
  await vi.waitFor(() => expect(changes).toBeGreaterThan(0));
  service.close();
  expect(host.asked).toEqual([null]);
  // That it is ready.
  expect(changes).toBe(1);
  expect(service.state.notReady).toBeNull();
  expect(service.state.entries.map(({ state }) => state)).toEqual(host.state.entries.map(() => 'ready'));
});

it('a start prepares models that are requested meanwhile before others', async () => {
  const models = smallModels(100, 1);
  const host = new Started(models);
  const order: string[] = [];
  const add = async ({ name }: ModelReference) => {
    if (order.push(name) === 1) await service.wants('model90');
    await new Promise((resolve) => setImmediate(resolve));
    const model = models.find(({ spec }) => spec.name === name)!;
    return { index: models.indexOf(model), model };
  };
  const log = { info: () => {}, warn: () => {} };
  const service = new ModelService(ALL_MODELS, log, new ModelLabels(), host.nowNs);
  const empty = { ...host, state: { notReady: null, entries: [] } };
  const started = { ...empty, list: (name: string | null) => host.list(name), addModel: add };
  service.attach(started, started, { read: () => [], listed: () => {} });
  await service.start();
  service.close();
  expect(order).toHaveLength(100);
  expect(order.slice(0, 18)).toContain('model90');
});
