import { expect, it } from 'vitest';
import { NoWorker } from '../../src/live/controller/fleet-models.js';
import { type ModelList, NO_MODELS } from '../../src/live/model-list.js';
import { ModelLabels } from '../../src/live/observe/telemetry/labels.js';
import type { SchedulingService } from '../../src/live/service.js';
import { ALL_MODELS, type DeploymentOptions, type ModelHost } from '../../src/serve/deployment-options.js';
import { ModelService } from '../../src/serve/model-service.js';
import { smallModels } from './fixtures.js';

/** One worker, which goes down at the question with this number and comes up again when `comesUp` is called. */
class LosesItsWorker implements ModelHost, SchedulingService {
  readonly state = { notReady: null, entries: [] };
  readonly isOpen = false;
  /** Not before the loss is noticed. */
  away: readonly string[] = [];
  asked = 0;
  readonly models = smallModels(3, 1);
  /** Null: the worker is not awaited. */
  comesUp: (() => void) | null = null;

  constructor(
    private readonly losesAt: number,
    private readonly isNoticed: boolean,
  ) {}

  takeOver(): void {}

  untilUp(): Promise<void> {
    return new Promise((resolve) => {
      this.comesUp = () => {
        this.away = [];
        resolve();
      };
    });
  }

  async list(name: string | null): Promise<ModelList> {
    this.answers();
    const chosen = this.models.filter(({ spec }) => name === null || spec.name === name);
    const versions = chosen.map(({ spec }) => ({
      ...{ name: spec.name, version: '1', digest: '' },
      isMeasured: true,
    }));
    return { ...NO_MODELS, versions };
  }

  async addModel({ name }: { readonly name: string }) {
    this.answers();
    const index = this.models.findIndex(({ spec }) => spec.name === name);
    return { index, model: this.models[index] };
  }

  private answers(): void {
    if (++this.asked !== this.losesAt) return;
    if (this.isNoticed) this.away = ['worker:7000'];
    throw new NoWorker();
  }

  spread = () => Promise.resolve();
  putPipeline = () => -1;
  retireModel = () => Promise.resolve();
  infer = () => {};
  nowNs = () => 0;
  watch = () => () => {};
}

const EVENTS = { info: () => {}, warn: () => {} };
/** One for all models, then two for each of three. */
const QUESTIONS = [1, 2, 3, 4, 5, 6, 7];

function serviceOf(host: LosesItsWorker, options: Partial<DeploymentOptions>): ModelService {
  const service = new ModelService({ ...ALL_MODELS, ...options }, EVENTS, new ModelLabels(), host.nowNs);
  service.attach(host, host, { read: () => [], listed: () => {} });
  return service;
}

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
