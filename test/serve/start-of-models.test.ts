import { expect, it } from 'vitest';
import { NoWorker } from '../../src/live/controller/fleet-models.js';
import { type ModelList, type ModelReference, NO_MODELS } from '../../src/live/model-list.js';
import { FakeModelHost, serviceOf } from './fake-model-host.js';
import { smallModels } from './fixtures.js';

/** One worker, which goes down at the question with this number and comes up again when `comesUp` is called. */
class LosesItsWorker extends FakeModelHost {
  readonly models = smallModels(3, 1);
  /** Null: the worker is not awaited. */
  comesUp: (() => void) | null = null;
  private asked = 0;

  constructor(
    private readonly losesAt: number,
    /** False: the loss is not noticed yet. */
    private readonly isNoticed: boolean,
  ) {
    super();
  }

  override untilUp(): Promise<void> {
    return new Promise((resolve) => {
      this.comesUp = () => {
        this.away = [];
        resolve();
      };
    });
  }

  override async list(name: string | null): Promise<ModelList> {
    this.answers();
    const chosen = this.models.filter(({ spec }) => name === null || spec.name === name);
    const rest = { version: '1', digest: '', isMeasured: true };
    return { ...NO_MODELS, versions: chosen.map(({ spec }) => ({ ...rest, name: spec.name })) };
  }

  override async addModel({ name }: ModelReference) {
    this.answers();
    const index = this.models.findIndex(({ spec }) => spec.name === name);
    return { index, model: this.models[index] };
  }

  private answers(): void {
    if (++this.asked !== this.losesAt) return;
    if (this.isNoticed) this.away = ['worker:7000'];
    throw new NoWorker();
  }
}

/** One for all models, then two for each of three. */
const QUESTIONS = [1, 2, 3, 4, 5, 6, 7];

const cases = QUESTIONS.flatMap((losesAt) =>
  [{ isStrict: true }, { isStrict: false }, { control: 'poll' as const }].flatMap((options) =>
    [true, false].map((isNoticed) => ({ losesAt, isNoticed, options })),
  ),
);

it.each(cases)(
  'a start that loses its only worker waits for it: %j',
  async ({ losesAt, isNoticed, options }) => {
    const host = new LosesItsWorker(losesAt, isNoticed);
    const service = serviceOf(host, options);
    const started = service.start();
    await expect.poll(() => host.comesUp).not.toBeNull();
    expect(service.state.notReady).toMatch(/^starting: /);
    host.comesUp?.();
    await started;
    expect(service.state.entries.map(({ state }) => state)).toEqual(['ready', 'ready', 'ready']);
    service.close();
  },
);

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
