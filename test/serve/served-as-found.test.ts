import { expect, it } from 'vitest';
import { type ModelList, type ModelReference, NO_MODELS } from '../../src/live/model-list.js';
import { FakeModelHost, serviceOf } from './fake-model-host.js';
import { smallModels } from './fixtures.js';

/** Serves these from its start, as a worker without a repository does. */
class Started extends FakeModelHost {
  readonly asked: (string | null)[] = [];

  constructor(private readonly models: ReturnType<typeof smallModels>) {
    super();
    const entries = models.map((model, index) => {
      const { name } = model.spec;
      return { name, version: '1', isDefault: true, state: 'ready', reason: '', index, model } as const;
    });
    this.state = { notReady: null, entries };
  }

  override async list(name: string | null): Promise<ModelList> {
    this.asked.push(name);
    const chosen = this.models.filter(({ spec }) => name === null || spec.name === name);
    const rest = { version: '1', digest: '', isMeasured: true };
    return { ...NO_MODELS, versions: chosen.map(({ spec }) => ({ ...rest, name: spec.name })) };
  }
}

it('a start with many models that are served already asks for them once, and tells of them once', async () => {
  const host = new Started(smallModels(500, 1));
  const service = serviceOf(host);
  let changes = 0;
  service.watch(() => changes++);
  await service.start();
  await expect.poll(() => changes).toBeGreaterThan(0);
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
  host.state = { notReady: null, entries: [] };
  const order: string[] = [];
  host.addModel = async ({ name }: ModelReference) => {
    if (order.push(name) === 1) await service.wants('model90');
    await new Promise((resolve) => setImmediate(resolve));
    const model = models.find(({ spec }) => spec.name === name)!;
    return { index: models.indexOf(model), model };
  };
  const service = serviceOf(host);
  await service.start();
  service.close();
  expect(order).toHaveLength(100);
  expect(order.slice(0, 18)).toContain('model90');
});
