import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { OUTCOME_OK, OUTCOME_REJECTED } from '../../src/core/request.js';
import type { WorkerModel } from '../../src/live/model.js';
import type { ModelList, ModelReference } from '../../src/live/model-list.js';
import { problemError } from '../../src/live/ort/runtime-problem.js';
import type { InferenceAnswer, InferenceRequest } from '../../src/live/service.js';
import type { DeploymentOptions } from '../../src/serve/deployment-options.js';
import type { ModelService } from '../../src/serve/model-service.js';
import { type PreparerTask, performTask, plain } from '../../src/serve/prepare-model.js';
import { type Preparer, RepositorySource } from '../../src/serve/repository-source.js';
import { CPU, scalingModel, tempDir, writeIn } from '../live/models/fixtures.js';
import { FakeModelHost, serviceOf } from './fake-model-host.js';
import { PAGE_BYTES, until } from './fixtures.js';

/** Holds models under indices that are used again, as the scheduler does, and answers with the version it ran. */
class FakeHost extends FakeModelHost {
  readonly slots: (WorkerModel | null)[] = [];
  readonly mistakes: string[] = [];
  adds = 0;
  /** So many times a model cannot be added. */
  failures = 0;
  changed: () => void = () => {};
  private readonly running: number[] = [];

  constructor(
    private readonly dir: string,
    private readonly source: RepositorySource,
  ) {
    super();
  }

  override list(name: string | null, config?: string): Promise<ModelList> {
    return this.source.list(name, config);
  }

  override async addModel(reference: ModelReference) {
    if (this.failures > 0) {
      this.failures--;
      throw new Error(`worker local: ${this.dir}/m/1/x.ort: cannot be read`);
    }
    const model = await this.source.open(reference);
    if (model === null) throw new Error('no worker has it');
    this.adds++;
    const empty = this.slots.indexOf(null);
    const index = empty < 0 ? this.slots.length : empty;
    this.slots[index] = model;
    this.running[index] = 0;
    return { index, model };
  }

  override async retireModel(index: number): Promise<void> {
    this.state = { ...this.state, entries: this.state.entries.filter((entry) => entry.index !== index) };
    await until(() => this.running[index] === 0);
    this.slots[index] = null;
  }

  override infer(request: InferenceRequest): void {
    const index = request.model;
    const model = this.slots[index];
    if (model === undefined || model === null) this.mistakes.push(`a request for ${index}, which is empty`);
    this.running[index]++;
    setTimeout(() => {
      this.running[index]--;
      const error = `${model?.spec.name}/${model?.version}`;
      request.done({ outcome: OUTCOME_OK, outputs: [], predictedNs: 0, batchSize: 1, error });
    }, 3);
  }

  private looks = 0;
  /** Later each time. */
  override nowNs(): number {
    return this.looks++;
  }
  override watch(changed: () => void): () => void {
    this.changed = changed;
    return () => {};
  }
}

/** Prepares models in this thread: starting another one takes longer than most tests. */
function preparer(say: (what: string) => void): Preparer {
  let turn: Promise<unknown> = Promise.resolve();
  const call = (task: PreparerTask) => {
    const result = turn.then(() =>
      performTask(task, say).catch((error) => {
        throw problemError(plain(error, say));
      }),
    );
    turn = result.catch(() => {});
    return result;
  };
  return { isBusy: false, call, close: async () => void (await turn) };
}

/** Models that differ by what they multiply with. */
function put(dir: string, name: string, version: number, weight: number): void {
  writeIn(dir, `${name}/${version}/model.onnx`, scalingModel(weight));
}

function open(dir: string, options: Partial<DeploymentOptions> = {}) {
  const said: string[] = [];
  const prepare = { device: CPU, pageBytes: PAGE_BYTES, cacheDir: null, measure: 'none' as const };
  const say = (what: string) => void said.push(what);
  const source = new RepositorySource({ dirs: [dir], precision: 'fp32', options: prepare }, say, () =>
    preparer(say),
  );
  const host = new FakeHost(dir, source);
  const warned: string[] = [];
  const warn = (facts: { readonly error?: string }, what: string) => {
    said.push(what);
    warned.push(facts.error ?? '');
  };
  const unloaded: string[] = [];
  const info = ({ model, version, why }: Readonly<Record<string, unknown>>, what: string) => {
    if (what === 'unloaded') unloaded.push(`${model}/${version}: ${why}`);
  };
  const events = { info, warn };
  const takeOver = () => {
    const service = serviceOf(host, { dirs: [dir], ...options }, events);
    onTestFinished(() => service.close());
    return service;
  };
  const service = takeOver();
  onTestFinished(() => source.close());
  return { host, service, takeOver, said, warned, unloaded };
}

/** Starts with a model that multiplies by each number, at NAME/VERSION, and with files of each text. */
async function started(
  files: Readonly<Record<string, number | string>>,
  options: Partial<DeploymentOptions> = {},
) {
  const dir = tempDir();
  for (const [path, content] of Object.entries(files))
    if (typeof content === 'string') writeIn(dir, path, content);
    else writeIn(dir, `${path}/model.onnx`, scalingModel(content));
  const opened = open(dir, options);
  await opened.service.start();
  return { dir, ...opened };
}

/** Asks as a frontend does: by the index of the entry that is the default. */
function ask(service: ModelService, name: string, version = ''): Promise<InferenceAnswer> {
  const entry = service.state.entries.find(
    (each) => each.name === name && (version === '' ? each.isDefault : each.version === version),
  );
  return send(service, entry?.index ?? -1);
}

function send(service: ModelService, model: number): Promise<InferenceAnswer> {
  return new Promise((done) => service.infer({ model, user: 0, sloNs: 1e9, inputs: [], done }));
}

const states = (service: ModelService) =>
  service.state.entries.map(({ name, version, state }) => `${name}/${version} ${state}`);
const reasons = (service: ModelService) =>
  service.state.entries.map(({ name, version, reason }) => `${name}/${version} ${reason}`);

/** Entry of the scheduler for the first version of `a`. */
const firstOf = (index: number, model: WorkerModel | null) =>
  ({ name: 'a', version: '1', isDefault: true, state: 'ready', reason: '', index, model }) as const;

describe('a server that another leaves the workers to', () => {
  it('holds inferences until it has the models, and is ready before it has looked for others', async () => {
    const dir = tempDir();
    put(dir, 'a', 1, 2);
    const { host, service } = open(dir);
    const { index, model } = await host.addModel((await host.list('a')).versions[0]);
    const stands = { notReady: null, takesOver: true, entries: [] };
    host.state = stands;
    host.changed();
    expect(service.state).toMatchObject({ notReady: null, takesOver: true });
    let isOver = false;
    const takingOver = service.takeOver().then(() => {
      isOver = true;
    });
    host.state = { notReady: 'no worker is up', entries: [] };
    host.changed();
    expect(service.state).toMatchObject({ notReady: null, takesOver: true });
    host.state = { notReady: null, entries: [firstOf(index, model)] };
    host.changed();
    await Promise.resolve();
    expect(isOver).toBe(false);
    const list = host.list.bind(host);
    let look = () => {};
    host.list = (name) =>
      new Promise((resolve) => {
        look = () => {
          host.list = list;
          resolve(list(name));
        };
      });
    const started = service.start();
    await takingOver;
    expect(service.state.notReady).toBe(null);
    expect(service.state.takesOver).not.toBe(true);
    expect((await ask(service, 'a')).error).toBe('a/1');
    look();
    await started;
  });

  it('takes what a worker that comes late has of the other one, and nothing that it is about to retire', async () => {
    const { dir, host, service } = await started({ 'a/1': 2 }, { control: 'explicit' });
    const { index, model } = await host.addModel((await host.list('a')).versions[0]);
    host.state = { notReady: null, entries: [firstOf(index, model)] };
    service.workersCame();
    await service.load('a');
    expect(host.adds).toBe(1);
    expect((await ask(service, 'a')).error).toBe('a/1');
    // The first one lingers when it is loaded again.
    for (const weight of [3, 2]) {
      put(dir, 'a', 1, weight);
      await service.load('a');
    }
    await until(() => host.slots[index] === null);
    expect((await ask(service, 'a')).error).toBe('a/1');
    expect([host.adds, host.mistakes]).toEqual([3, []]);
  });
});

describe('a deployment', () => {
  it('serves all that it can; what it cannot has a reason', async () => {
    const dir = tempDir();
    put(dir, 'a', 1, 2);
    put(dir, 'b', 1, 3);
    writeIn(dir, 'broken/1/model.onnx', 'nonsense');
    mkdirSync(join(dir, 'lost+found'));
    const { service } = open(dir);
    expect(service.state.notReady).toBe('starting: looking for models');
    const starting = service.start();
    await until(() => service.state.entries.length === 3);
    expect(service.state).toMatchObject({ takesRequests: true });
    expect(states(service)[0]).toBe('a/1 loading');
    await starting;
    expect(service.state.notReady).toBe(null);
    expect(states(service)).toEqual(['a/1 ready', 'b/1 ready', 'broken/1 unavailable']);
    expect(service.state.entries[2].reason).toMatch(
      /^not available: broken\/1\/model\.onnx: onnxruntime cannot use the model/,
    );
    expect((await ask(service, 'b')).error).toBe('b/1');
  });

  it('ends the start with the first problem if it is strict, or if nothing can be served', async () => {
    const dir = tempDir();
    writeIn(dir, 'broken/1/model.onnx', 'nonsense');
    await expect(open(dir).service.start()).rejects.toMatchObject({ code: 'E_MODEL_FILE' });
    put(dir, 'a', 1, 2);
    await open(dir).service.start();
    await expect(open(dir, { isStrict: true }).service.start()).rejects.toThrow('onnxruntime cannot use');
    rmSync(join(dir, 'broken'), { recursive: true });
    const step =
      'step { model_name: "b" input_map { key: "x" value: "x" } output_map { key: "y" value: "y" } }';
    writeIn(dir, 'both/config.pbtxt', `platform: "ensemble" ensemble_scheduling { ${step} }`);
    await open(dir).service.start();
    const strict = { isStrict: true, control: 'explicit' } as const;
    await open(dir, { ...strict, names: ['a'] }).service.start();
    for (const options of [{ isStrict: true }, { ...strict, names: ['both'] }])
      await expect(open(dir, options).service.start()).rejects.toThrow(
        'pipeline both: both/config.pbtxt: step b: nothing yields tensor x, its input x',
      );
  });

  it('loads new versions and replaced files under load, and no request fails', async () => {
    const { dir, service, host } = await started({ 'm/1': 2 });
    const answers: InferenceAnswer[] = [];
    let isOver = false;
    const client = async () => {
      // As a frontend with a slow client: it looked the model up long before the request is complete.
      const stale = service.state.entries[0].index;
      while (!isOver) answers.push(...(await Promise.all([ask(service, 'm'), send(service, stale)])));
    };
    const clients = [client(), client(), client()];
    await until(() => answers.length > 20);
    put(dir, 'm', 2, 3);
    await service.load('m');
    expect(states(service)).toEqual(['m/2 ready']);
    expect((await ask(service, 'm')).error).toBe('m/2');
    put(dir, 'm', 2, 4);
    await service.load('m');
    writeIn(dir, 'm/config.yaml', 'slo: 1s');
    await service.load('m');
    await until(() => host.slots.filter((slot) => slot !== null).length === 1);
    isOver = true;
    await Promise.all(clients);
    const adds = host.adds;
    await service.load('m');
    expect(host.adds).toBe(adds);
    expect(adds).toBe(4);
    expect(host.mistakes).toEqual([]);
    expect(answers.length).toBeGreaterThan(50);
    // The version that a client asked for is gone after the first load, and it is said.
    const failed = answers.filter(({ outcome }) => outcome !== OUTCOME_OK);
    expect(new Set(failed.map(({ error }) => error))).toEqual(
      new Set(failed.length === 0 ? [] : ['version 1 of model "m" is not served any more']),
    );
  });

  it('goes on serving what it has when a load fails', async () => {
    const { dir, service, said } = await started({ 'm/1': 2 });
    writeFileSync(join(dir, 'm/1/model.onnx'), 'nonsense');
    await expect(service.load('m')).rejects.toThrow(
      /^model "m" cannot be loaded: m\/1\/model\.onnx: onnxruntime cannot .*; the model loaded before stays in service$/,
    );
    expect((await ask(service, 'm')).error).toBe('m/1');
    expect(states(service)).toEqual(['m/1 ready']);
    expect(reasons(service)[0]).toMatch(
      /^m\/1 serves the model loaded before; its replacement is rejected: m\/1\/model\.onnx: onnxruntime cannot/,
    );
    expect(said.at(-1)).toBe('its replacement is rejected; the model loaded before stays in service');
    put(dir, 'm', 1, 2);
    await service.load('m');
    expect(reasons(service)).toEqual(['m/1 ']);
    // A new version that is broken, or not all there yet, takes nothing away.
    put(dir, 'm', 2, 2);
    writeFileSync(join(dir, 'm/2/model.onnx'), 'nonsense');
    await expect(service.load('m')).rejects.toThrow('the model loaded before stays in service');
    expect((await ask(service, 'm')).error).toBe('m/1');
    rmSync(join(dir, 'm'), { recursive: true });
    await expect(service.load('m')).rejects.toThrow('are gone from the repository');
    await expect(service.load('none')).rejects.toMatchObject({ kind: 'unknown' });
    await expect(service.load('../etc')).rejects.toMatchObject({ kind: 'unknown' });
    expect((await ask(service, 'm')).error).toBe('m/1');
  });

  it('gives the memory back with unload; load brings the model back', async () => {
    const { service, host } = await started({ 'm/1': 2 });
    const stale = service.state.entries[0].index;
    await service.unload('m');
    expect(host.slots).toEqual([null]);
    expect(service.state.entries[0]).toMatchObject({ state: 'unavailable', reason: 'unloaded', index: -1 });
    expect((await send(service, stale)).error).toBe('model "m" is unloaded');
    await service.load('m');
    expect((await ask(service, 'm')).error).toBe('m/1');
    expect(service.state.entries[0].index).not.toBe(stale);
    await expect(service.unload('none')).rejects.toMatchObject({ kind: 'unknown' });
  });

  it('lets an idle model sleep and wakes it with the next request', async () => {
    const { service, host } = await started({ 'm/1': 2 }, { idleNs: 2e8 });
    await until(() => host.slots[0] === null);
    expect(states(service)).toEqual(['m/1 ready']);
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask(service, 'm')));
    expect(answers.map(({ error }) => error)).toEqual(Array(5).fill('m/1'));
    expect(host.adds).toBe(2);
  });

  it('lets no model sleep while none can be requested', async () => {
    const { host } = await started({ 'm/1': 2 }, { idleNs: 2e8 });
    host.state = { notReady: 'no worker is up', entries: [] };
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(host.slots[0]).not.toBeNull();
    host.state = { notReady: null, entries: [] };
    await until(() => host.slots[0] === null);
  });
});

describe('an idle model that cannot be loaded again', () => {
  it('is tried again by the first request after a pause that grows', async () => {
    const { service, host, said } = await started({ 'm/1': 2 }, { idleNs: 2e8 });
    await until(() => host.slots[0] === null);
    host.failures = 2;
    const stale = service.state.entries[0].index;
    for (const pause of ['1 s', '2 s']) {
      const answer = await ask(service, 'm');
      expect(answer.outcome).toBe(OUTCOME_REJECTED);
      expect(answer.error).toBe('model "m" cannot be loaded again: worker local: m/1/x.ort: cannot be read');
      expect(service.state.entries[0]).toMatchObject({
        state: 'unavailable',
        reason: expect.stringMatching(`cannot be read; requests after ${pause} try again$`),
      });
      expect((await send(service, stale)).outcome).toBe(OUTCOME_REJECTED);
      await until(() => states(service).join() === 'm/1 ready');
    }
    expect((await ask(service, 'm')).error).toBe('m/1');
    expect(host.failures).toBe(0);
    expect(said.filter((what) => what === 'model cannot be loaded again')).toHaveLength(2);
  });
});

describe('a model that cannot be served', () => {
  it('is said once per change, also while the repository is polled; clients see no whole paths', async () => {
    const { dir, service, said, warned } = await started(
      {
        'good/1': 2,
        'broken/1/model.onnx': 'nonsense',
        'typo/1': 2,
        'typo/config.yaml': 'batch: rows\nslo: fast',
      },
      { control: 'poll', pollNs: 5e7 },
    );
    const reasons = service.state.entries.map(({ reason }) => reason);
    expect(reasons[0]).toMatch(/^not available: broken\/1\/model\.onnx: onnxruntime cannot use/);
    expect(reasons[2]).toMatch(/^not available: typo\/config\.yaml:2: slo: must be a duration/);
    expect(reasons.join()).not.toContain(dir);
    expect(warned.filter((error) => error.includes(`${dir}/typo/config.yaml:2: slo`))).toHaveLength(1);
    writeIn(dir, 'typo/config.yaml', 'slo: slow');
    put(dir, 'next', 1, 2);
    await until(() => states(service).includes('next/1 ready'));
    put(dir, 'last', 1, 2);
    await until(() => states(service).includes('last/1 ready'));
    expect(said.filter((what) => what === 'model cannot be loaded')).toHaveLength(3);
    writeIn(dir, 'typo/config.yaml', 'slo: 1s');
    await until(() => states(service).includes('typo/1 ready'));
  });

  it.each(['all', 'explicit', 'poll'] as const)(
    'has the next lower version that can stand in at a start with %s, until its own files are right',
    async (control) => {
      const dir = tempDir();
      for (const version of [1, 2]) put(dir, 'm', version, version);
      writeIn(dir, 'm/3/model.onnx', 'nonsense');
      writeIn(dir, 'm/4/model.onnx', 'nonsense');
      const { service, warned, host } = open(dir, { control, names: ['m'], pollNs: 5e7 });
      await service.start();
      const both = ['m/2 ready', 'm/3 unavailable', 'm/4 unavailable'];
      expect(states(service)).toEqual(both);
      expect((await ask(service, 'm')).error).toBe('m/2');
      expect(reasons(service)[2]).toMatch(/^m\/4 not available: m\/4\/model\.onnx: onnxruntime cannot use/);
      expect(warned).toHaveLength(2);
      if (control === 'poll') {
        put(dir, 'other', 1, 2);
        await until(() => states(service).includes('other/1 ready'));
        expect(warned).toHaveLength(2);
      } else {
        await expect(service.load('m')).rejects.toThrow('the model loaded before stays in service');
      }
      expect(states(service).slice(0, 3)).toEqual(both);
      put(dir, 'm', 4, 5);
      if (control !== 'poll') await service.load('m');
      await until(() => states(service)[0] === 'm/4 ready');
      expect(host.mistakes).toEqual([]);
    },
  );
});

describe('the index', () => {
  it('lists what lies on disk, whether it is loaded or not, and nothing else', async () => {
    const { dir, service, warned } = await started(
      { 'a/1': 2, 'b/1': 2, 'c/1': 2, 'typo/1/model.onnx': 'nonsense', 'typo/config.yaml': 'slo: fast' },
      { control: 'explicit', names: ['b'] },
    );
    const typo = 'typo/1 unloaded; its files cannot be loaded: typo/config.yaml:1: slo: must be a duration';
    expect(reasons(service)).toEqual(['a/1 unloaded', 'b/1 ', 'c/1 unloaded', expect.stringContaining(typo)]);
    expect(states(service).filter((state) => state.endsWith(' unavailable'))).toHaveLength(3);
    await service.load('c');
    await service.unload('c');
    for (const name of ['a', 'b', 'c']) rmSync(join(dir, name), { recursive: true });
    put(dir, 'd', 3, 2);
    rmSync(join(dir, 'typo/config.yaml'));
    await service.look();
    expect(states(service)).toEqual(['b/1 ready', 'd/3 unavailable', 'typo/1 unavailable']);
    expect(reasons(service)).toEqual(['b/1 ', 'd/3 unloaded', 'typo/1 unloaded']);
    await expect(service.load('typo')).rejects.toThrow('onnxruntime cannot');
    await service.look();
    expect(reasons(service)[2]).toMatch(/^typo\/1 not available: .*onnxruntime cannot/);
    await service.unload('b');
    await service.look();
    expect(states(service)).toEqual(['d/3 unavailable', 'typo/1 unavailable']);
    rmSync(dir, { recursive: true });
    for (let i = 0; i < 2; i++) await service.look();
    expect(states(service)).toHaveLength(2);
    expect(warned.filter((error) => error.includes('no such folder'))).toHaveLength(1);
  });

  it('keeps what may be on a worker that is away', async () => {
    const { dir, service, host } = await started(
      { 'a/1': 2, 'b/1': 2 },
      { control: 'explicit', names: ['a'] },
    );
    rmSync(join(dir, 'b'), { recursive: true });
    host.away = ['another'];
    await service.look();
    expect(reasons(service)).toEqual(['a/1 ', 'b/1 unloaded']);
    host.away = [];
    await service.look();
    expect(reasons(service)).toEqual(['a/1 ']);
  });

  it('loses broken versions that are gone, also while others are broken', async () => {
    const { dir, service } = await started(
      { 'a/1': 2, 'm/1': 2, 'm/2/model.onnx': 'nonsense' },
      { control: 'poll', pollNs: 5e7 },
    );
    expect(states(service)).toEqual(['a/1 ready', 'm/1 ready', 'm/2 unavailable']);
    renameSync(join(dir, 'm/2'), join(dir, 'm/3'));
    await until(() => states(service).join() === 'a/1 ready,m/1 ready,m/3 unavailable');
    rmSync(join(dir, 'm/3'), { recursive: true });
    await until(() => states(service).join() === 'a/1 ready,m/1 ready');
  });
});

describe('model control', () => {
  it('poll: what the repository holds, whatever happens to it', async () => {
    const { dir, service, host } = await started({ 'a/1': 2 }, { control: 'poll', pollNs: 5e7 });
    put(dir, 'new', 1, 5);
    put(dir, 'a', 2, 3);
    await until(() => states(service).join() === 'a/2 ready,new/1 ready');
    cpSync(join(dir, 'a/2'), join(dir, 'a/3'), { recursive: true });
    rmSync(join(dir, 'new'), { recursive: true });
    await until(() => states(service).join() === 'a/3 ready');
    await until(() => host.slots.filter((slot) => slot !== null).length === 1);
    expect(host.mistakes).toEqual([]);
  });

  it('poll: follows a link that another tool swaps, without a moment in which a model is missing', async () => {
    const dir = tempDir();
    const current = join(dir, 'current');
    const swapTo = (revision: string) => {
      symlinkSync(revision, join(dir, 'next'));
      renameSync(join(dir, 'next'), current);
    };
    put(join(dir, 'revision-1'), 'a', 1, 2);
    swapTo('revision-1');
    const { service, warned, unloaded } = open(current, { control: 'poll', pollNs: 5e7 });
    await service.start();
    const seen = new Set<string>();
    service.watch(() => seen.add(String(states(service))));
    put(join(dir, 'revision-2'), 'a', 1, 3);
    put(join(dir, 'revision-2'), 'b', 1, 4);
    swapTo('revision-2');
    rmSync(join(dir, 'revision-1'), { recursive: true });
    await until(() => unloaded.length > 0 && String(states(service)) === 'a/1 ready,b/1 ready');
    expect(unloaded).toEqual(['a/1: newer files of it are served instead']);
    expect([...seen].filter((one) => !one.includes('a/1 ready'))).toEqual([]);
    expect(warned).toEqual([]);
  });

  it('poll: waits for a repository that is not there yet, and says what it waits for once', async () => {
    const dir = join(tempDir(), 'later');
    const { service, warned } = open(dir, { control: 'poll', pollNs: 5e7 });
    let isStarted = false;
    const started = service.start().then(() => {
      isStarted = true;
    });
    await until(() => service.state.notReady?.includes('no such folder') === true);
    expect(service.state.notReady).toBe('starting: later: no such folder: name a model repository');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect([isStarted, warned]).toEqual([false, [`${dir}: no such folder: name a model repository`]]);
    // A model that is broken, or not all there yet, is no reason to end either.
    writeIn(dir, 'm/1/model.onnx', 'nonsense');
    await started;
    expect(service.state.notReady).toBe(null);
    expect(states(service)).toEqual(['m/1 unavailable']);
    put(dir, 'm', 1, 2);
    await until(() => states(service).join() === 'm/1 ready');
    // While the folder is away, what was loaded is served.
    renameSync(dir, `${dir}-away`);
    await until(() => warned.at(-1)?.includes('no such folder') === true);
    expect((await ask(service, 'm')).error).toBe('m/1');
    const strict = open(dir, { control: 'poll', pollNs: 5e7, isStrict: true });
    await expect(strict.service.start()).rejects.toThrow('no such folder');
  });
});

it('has notified everybody of a change before whatever changed it is over', async () => {
  const dir = tempDir();
  put(dir, 'a', 1, 2);
  const { service } = open(dir, { control: 'explicit', isStrict: false });
  let hear = () => {};
  service.watch(
    () =>
      new Promise<void>((resolve) => {
        hear = resolve;
      }),
  );
  const steps: [step: () => Promise<void>, seen: () => boolean][] = [
    [() => service.start(), () => service.state.notReady === null],
    [() => service.load('a'), () => String(states(service)) === 'a/1 ready'],
    [() => service.unload('a'), () => String(states(service)) === 'a/1 unavailable'],
    [
      () => {
        writeIn(dir, 'broken/1/model.onnx', 'nonsense');
        return expect(service.load('broken')).rejects.toThrow('onnxruntime cannot');
      },
      () => String(states(service)).includes('broken/1 unavailable'),
    ],
    [
      () => {
        put(dir, 'later', 1, 2);
        return service.look();
      },
      () => String(states(service)).includes('later/1 unavailable'),
    ],
  ];
  for (const [step, seen] of steps) {
    let isOver = false;
    const over = step().then(() => {
      isOver = true;
    });
    await until(seen);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(isOver).toBe(false);
    hear();
    await over;
  }
});

it('keeps the configuration of a client for a model that its pipeline brings in meanwhile', async () => {
  const step =
    'step { model_name: "m" input_map { key: "x" value: "x" } output_map { key: "y" value: "y" } }';
  const tensors =
    'input { name: "x" data_type: TYPE_FP32 dims: [ 2 ] } output { name: "y" data_type: TYPE_FP32 dims: [ 2 ] }';
  const ensemble = `platform: "ensemble" max_batch_size: 8 ${tensors} ensemble_scheduling { ${step} }`;
  const { service } = await started(
    { 'm/1': 2, 'm/2': 3, 'both/config.pbtxt': ensemble },
    { control: 'explicit', names: ['m'] },
  );
  expect(states(service)).toContain('m/2 ready');
  const unloaded = service.unload('m');
  const loaded = service.load('m', '{"version_policy": {"specific": {"versions": ["1"]}}, "parameters": {}}');
  await Promise.all([unloaded, loaded, service.load('both').catch(() => {})]);
  expect(states(service)).toContain('m/1 ready');
});

it('loads a model with a configuration of the client, until it is loaded without', async () => {
  const { host, service, takeOver } = await started({ 'm/1': 2, 'm/2': 3 });
  const ready = (of = service) =>
    of.state.entries.flatMap(({ state, version }) => (state === 'ready' ? version : []));
  const specific = '{"version_policy": {"specific": {"versions": ["1"]}}, "parameters": {}}';
  await service.load('m', specific);
  expect(ready()).toEqual(['1']);
  host.state = { notReady: null, entries: service.state.entries };
  const heir = takeOver();
  await heir.start();
  expect(ready(heir)).toEqual(['1']);
  await heir.load('m');
  expect(ready(heir)).toEqual(['2']);
  const all = '{"version_policy": {"all": {}}, "backend": "onnxruntime", "instance_group": []}';
  await service.load('m', all);
  expect(ready()).toEqual(['1', '2']);
  await expect(service.load('m', '{"sequence_batching": {}}')).rejects.toThrow(
    'sequences of requests are not',
  );
  await expect(service.load('m', '{"instance_group": [{"count": 2}]}')).rejects.toThrow(
    'instance_group: has no counterpart here: leave it out',
  );
  await expect(service.load('m', '[]')).rejects.toThrow('config: must be a JSON object, as a text');
  await expect(service.load('m', '{"max_batch_size": 4}')).rejects.toThrow('takes no batches');
  expect(ready()).toEqual(['1', '2']);
  await service.load('m');
  expect(ready()).toEqual(['2']);
});
