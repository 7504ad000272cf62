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
