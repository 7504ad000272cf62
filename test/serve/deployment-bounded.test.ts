import { expect, it } from 'vitest';
import { EscapementError } from '../../src/base/errors.js';
import { NS_PER_S } from '../../src/base/units.js';
import type { Time, Timer } from '../../src/base/world/time.js';
import type { ModelReference } from '../../src/live/model-list.js';
import { type ModelList, NO_MODELS } from '../../src/live/model-list.js';
import { StatisticsCollector } from '../../src/live/observe/model-statistics.js';
import { ModelLabels } from '../../src/live/observe/telemetry/labels.js';
import { ALL_MODELS } from '../../src/serve/deployment-options.js';
import { ModelService } from '../../src/serve/model-service.js';
import { grown, largerOf, sizesOf } from '../live/sizes.js';
import { FakeModelHost } from './fake-model-host.js';
import { smallModels } from './fixtures.js';

const [MODEL] = smallModels(1, 1);
/** Until what is remembered for a while has been there for that long, and what is forgotten now and then has been. */
const WARM_UP = 40;
const ROUNDS = 100;
const ROUND_NS = 60 * NS_PER_S;

/** A minute passes with each round; delays take no time. */
class Minutes implements Time {
  nowNs = 0;
  private readonly none: Timer = { cancel: () => {}, unref: () => this.none };
  monotonicNs = () => this.nowNs;
  after = (_: number, run: () => void) => this.soon(run);
  every = () => this.none;
  soon = (run: () => void) => {
    setImmediate(run);
    return this.none;
  };
}

/** What a test says is in the repository. */
class Host extends FakeModelHost {
  versions: string[] = [];
  broken: string[] = [];
  private readonly slots: boolean[] = [];

  constructor(
    private readonly time: Minutes,
    private readonly statistics: StatisticsCollector,
  ) {
    super();
  }

  override nowNs(): number {
    return this.time.nowNs;
  }

  override async list(name: string | null): Promise<ModelList> {
    const of = (names: readonly string[]) =>
      names.map((each) => each.split('/')).filter(([model]) => name === null || model === name);
    const error = new EscapementError('E_MODEL_FILE', 'cannot be read');
    return {
      ...NO_MODELS,
      versions: of(this.versions).map(([model, version]) => ({
        ...{ name: model, version, digest: version, isMeasured: true },
      })),
      problems: of(this.broken).map(([model, version]) => ({ name: model, version, error })),
    };
  }

  override async addModel({ name, version, digest }: ModelReference) {
    const free = this.slots.indexOf(false);
    const index = free < 0 ? this.slots.length : free;
    this.slots[index] = true;
    const model = { ...MODEL, spec: { ...MODEL.spec, name }, version, digest };
    this.statistics.modelCame(index, model);
    return { index, model };
  }

  override async retireModel(index: number): Promise<void> {
    this.slots[index] = false;
  }
}

it('nothing that a deployment holds grows with models that come, go, and cannot be loaded', async () => {
  const time = new Minutes();
  const statistics = new StatisticsCollector(() => 0);
  const host = new Host(time, statistics);
  const events = { info: () => {}, warn: () => {} };
  const options = { ...ALL_MODELS, control: 'explicit' as const };
  const service = new ModelService(options, events, new ModelLabels(50), () => host.nowNs(), time);
  service.attach(host, host, statistics);
  await service.start();
  const round = async (i: number) => {
    time.nowNs += ROUND_NS;
    host.versions = ['stays/1', `churn/${i}`, `new-${i}/1`];
    host.broken = [`broken-${i}/1`];
    await service.look();
    for (const name of ['stays', 'churn', `new-${i}`]) await service.load(name);
    for (const name of [`broken-${i}`, `unknown-${i}`])
      await expect(service.load(name)).rejects.toThrow(name);
    for (const name of ['stays', `new-${i}`]) await service.unload(name);
  };
  const sizes = () => sizesOf({ service, statistics });
  let before = new Map<string, number>();
  for (let i = 1; i <= WARM_UP; i++) {
    await round(i);
    before = largerOf(before, sizes());
  }
  for (let i = WARM_UP + 1; i <= WARM_UP + ROUNDS; i++) await round(i);
  expect(grown(before, sizes(), 2)).toEqual([]);
  expect(service.state.entries.map(({ name, state }) => `${name} ${state}`)).toContain('churn ready');
});
