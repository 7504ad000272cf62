import { EscapementError } from '../base/errors.js';
import { NS_PER_MS, NS_PER_S } from '../base/units.js';
import { REAL_TIME } from '../base/world/real-time.js';
import type { Time, Timer } from '../base/world/time.js';
import { NoWorker } from '../live/controller/fleet-models.js';
import { type ModelList, NO_MODELS, type OfferedVersion } from '../live/model-list.js';
import type { NameLabels } from '../live/observe/telemetry/labels.js';
import {
  type InferenceRequest,
  type ModelStatistics,
  type SchedulingService,
  ServiceError,
  type ServiceState,
  STANDS_BY,
  type WatchedService,
} from '../live/service.js';
import { within } from '../live/within.js';
import { clientReason } from './client-reason.js';
import { Deployment } from './deployment.js';
import {
  type DeploymentEvents,
  type DeploymentOptions,
  type ModelHost,
  startNeeds,
} from './deployment-options.js';
import { noSuchModel } from './model-errors.js';
import { ModelHandles } from './model-handles.js';
import type { ModelTable } from './model-table.js';
import { Said } from './said.js';
import { isUnloaded, MEASURING } from './unserved.js';

/** Time that a request for the index waits for a look at the disk, which profiling of a model may delay. */
const LOOK_NS = NS_PER_S;

/** A service whose models are those of its workers' repositories, and change while it runs. */
export class DeployedService implements WatchedService {
  state: ServiceState;
  private readonly handles: ModelHandles;
  private readonly deployment: Deployment;
  private readonly watchers = new Set<() => void>();
  private readonly timers: Timer[] = [];
  private isStarting = true;
  /** Look at the disk requested by clients; null: none in progress. */
  private looking: Promise<void> | null = null;
  /** Reason why the repository cannot be read during a start that waits for it; '' if it can. */
  private lacks = '';
  /** Latest failure of a look, kept under no model. */
  private readonly said = new Said();

  constructor(
    private readonly service: SchedulingService,
    private readonly host: ModelHost,
    private readonly options: DeploymentOptions,
    private readonly events: DeploymentEvents,
    private readonly readStatistics: (entries: ServiceState['entries']) => readonly ModelStatistics[],
    /** Labels of its models in metrics. */
    private readonly labels: NameLabels,
    private readonly time: Time = REAL_TIME,
  ) {
    this.handles = new ModelHandles(service, (handle) => this.deployment.wake(handle), time);
    const changed = () => this.replace();
    this.deployment = new Deployment(host, this.handles, options, events, changed, time);
    this.deployment.adopt(service.state.entries);
    this.state = this.build();
    service.watch(changed);
  }

  /**
   * Loads the models configured for the start while the service already answers. Rejects with the coded error of a
   * problem that must end the server.
   */
  async start(): Promise<void> {
    const { control, isStrict } = this.options;
    const kept = this.adopt();
    const { list, known, wanted } = await this.firstSurvey();
    const { skipped } = list;
    if (skipped.length > 0) this.events.info({ skipped }, 'the repository has entries that are not models');
    const foreign = [...wanted].find((name) => !known.includes(name));
    if (foreign !== undefined && this.isComplete) throw noSuchModel(foreign, known);
    if (wanted.size === 0 && startNeeds(this.options) === 'model' && this.isComplete) {
      const what = 'no worker has a model: put models into NAME/VERSION/model.onnx of all repositories';
      throw new EscapementError('E_MODEL_FILE', what);
    }
    // Models loaded by clients through an earlier controller may be unloaded by clients, too.
    if (control === 'explicit') for (const name of kept) wanted.add(name);
    const running = this.deployment.table.all().filter(({ handle }) => handle >= 0);
    for (const name of new Set(running.map((row) => row.name)))
      if (!wanted.has(name)) await this.deployment.forget(name, '--load-model does not name it');
    if (wanted.size === 0) this.events.info({}, NONE_YET[control]);
    const settled = servedAsFound(this.deployment.table, list);
    await this.deployment.start([...wanted].filter((name) => !settled.has(name))).catch((error) => {
      // Absent workers, or the next look, may bring the missing models.
      if (isStrict || (control !== 'poll' && this.isComplete)) throw error;
    });
    this.isStarting = false;
    this.replace();
    if (control === 'poll') this.every(this.options.pollNs, () => this.poll());
    const { idleNs } = this.options;
    if (idleNs !== null) this.every(idleNs / IDLE_LOOKS, idleLook(this.deployment, this.handles));
  }

  /** Call when a worker has come up: retries what could not be served, unless a worker needed for it is absent. */
  workersCame(): void {
    if (this.isStarting || this.host.away.length > 0) return;
    this.retry().catch((error) => this.complain(error));
  }

  watch(changed: () => void): () => void {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  }

  nowNs(): number {
    return this.service.nowNs();
  }

  infer(request: InferenceRequest): void {
    this.handles.infer(request);
  }

  async load(name: string): Promise<void> {
    this.checkControl();
    await this.deployment.load(name, true);
  }

  async unload(name: string): Promise<void> {
    this.checkControl();
    await this.deployment.unload(name);
  }

  async look(): Promise<void> {
    if (this.isStarting || this.options.control === 'poll') return;
    const look = async () => this.deployment.list(await this.listAll(), null);
    this.looking ??= look()
      .catch((error) => this.complain(error))
      .finally(() => {
        this.looking = null;
      });
    await within(this.time, this.looking, LOOK_NS);
  }

  async statistics(): Promise<readonly ModelStatistics[]> {
    return this.readStatistics(this.state.entries);
  }

  /** Stops all changes of models. */
  close(): void {
    for (const timer of this.timers) timer.cancel();
    this.deployment.close();
  }

  /** Serves models that workers already had when this controller took over. Returns the names. */
  private adopt(): readonly string[] {
    const { table } = this.deployment;
    const found = this.service.state.entries.filter(({ name, version }) => table.get(name, version) === null);
    this.deployment.adopt(found);
    return found.map(({ name }) => name);
  }

  private async retry(): Promise<void> {
    const { table } = this.deployment;
    if (table.all().length === 0) await this.survey();
    for (const name of new Set(table.all().map((row) => row.name))) {
      const rows = table.versions(name);
      const isServed = rows.some(({ state }) => state === 'ready');
      if (!isServed && !rows.every(isUnloaded)) await this.deployment.load(name, false).catch(() => {});
    }
  }

  /** Waits while no worker is up. With `poll` the repository itself may appear later, as a mounted folder does. */
  private async firstSurvey(): Promise<Survey> {
    const { control, isStrict, pollNs, dir } = this.options;
    for (;;) {
      try {
        return await this.survey();
      } catch (error) {
        if (error instanceof NoWorker) {
          await this.host.untilUp();
          continue;
        }
        if (control !== 'poll' || isStrict) throw error;
        this.complain(error as Error);
        this.lacks = clientReason(error as Error, dir);
        this.replace();
        await new Promise<void>((resolve) => this.time.after(pollNs / NS_PER_MS, resolve).unref());
      }
    }
  }

  /** Available models, and the names of those to serve. */
  private async survey(): Promise<Survey> {
    const { control, names } = this.options;
    const list = await this.listAll().catch((error) => {
      if (this.isComplete || error instanceof NoWorker) throw error;
      return NO_MODELS;
    });
    const { versions, problems } = list;
    const isChosen = (name: string) => control !== 'explicit' || names.includes('*') || names.includes(name);
    const known = [...new Set([...versions, ...problems].map(({ name }) => name))];
    const wanted = new Set(known.filter(isChosen));
    if (control === 'explicit') for (const name of names) if (name !== '*') wanted.add(name);
    this.deployment.announce(versions.filter(({ name }) => isChosen(name)));
    this.deployment.list(list, null);
    return { list, known, wanted };
  }

  /** True if all workers that may bring models are up. */
  private get isComplete(): boolean {
    return this.host.away.length === 0 && !this.host.isOpen;
  }

  private async listAll(): Promise<ModelList> {
    const list = await this.host.list(null);
    this.lacks = '';
    this.said.forget('');
    return list;
  }

  /** Logs a failure once, until a look has succeeded. */
  private complain({ message }: Error): void {
    if (this.said.isNew('', '', message)) this.events.warn({ error: message }, 'cannot list the models');
  }

  private checkControl(): void {
    if (this.service.state.notReady === STANDS_BY)
      throw new ServiceError('notReady', `the server is not ready: ${STANDS_BY}`);
    const { control } = this.options;
    if (control !== 'none' && control !== 'poll') return;
    throw new ServiceError(
      'invalid',
      `models cannot be loaded or unloaded by clients here: the server runs with --model-control ${control}`,
    );
  }

  private async poll(): Promise<void> {
    const { versions, problems } = await this.listAll();
    const present = new Set([...versions, ...problems].map(({ name }) => name));
    for (const name of present) await this.deployment.load(name, false).catch(() => {});
    const served = new Set(this.deployment.table.all().map(({ name }) => name));
    for (const name of served)
      if (!present.has(name)) await this.deployment.forget(name, 'its folder is gone');
  }

  /** Repeats work; skips turns while the previous one still runs. */
  private every(intervalNs: number, work: () => Promise<void>): void {
    let isBusy = false;
    const timer = this.time.every(intervalNs / NS_PER_MS, () => {
      if (isBusy) return;
      isBusy = true;
      work()
        .catch((error) => this.complain(error))
        .finally(() => {
          isBusy = false;
        });
    });
    this.timers.push(timer.unref());
  }

  private replace(): void {
    this.state = this.build();
    for (const changed of this.watchers) changed();
  }

  private build(): ServiceState {
    const entries = this.deployment.table.entries(this.labels);
    const { notReady, takesRequests = false } = this.service.state;
    const { away } = this.host;
    const same = { howLoaded: HOW_LOADED[this.options.control], entries };
    if (notReady !== null) return { notReady, takesRequests, ...same };
    if (!this.isStarting) {
      const isEmpty = entries.length === 0 && away.length > 0;
      return {
        notReady: isEmpty ? `there is no model, and some workers are absent: ${away.join(', ')}` : null,
        ...same,
      };
    }
    return { notReady: `starting: ${this.lacks || progress(entries)}`, takesRequests: true, ...same };
  }
}

/** Models found at the start of a server. */
interface Survey {
  readonly list: ModelList;
  readonly known: readonly string[];
  readonly wanted: Set<string>;
}

/** Log line for a start without models. */
const NONE_YET: Readonly<Record<DeploymentOptions['control'], string>> = {
  all: 'no worker that is up has a model; those that come may bring some',
  none: 'no worker that is up has a model; those that come may bring some',
  explicit: 'no model is loaded at the start: clients load them, or --load-model names some',
  poll: 'there is no model yet; those that come are served once they are found',
};

/**
 * Names of models of which `list` has exactly the served versions. A start need not ask the workers about each of these
 * again, which would take long with thousands. A note does not name its model: if there are any, the result is empty.
 */
export function servedAsFound(
  table: ModelTable,
  { versions, problems, notes }: ModelList,
): ReadonlySet<string> {
  if (notes.length > 0) return new Set();
  const broken = new Set(problems.map(({ name }) => name));
  const served = [...byName(versions)].filter(
    ([name, offers]) =>
      !broken.has(name) &&
      table.versions(name).length === offers.length &&
      offers.every((offer) => isServed(table, offer)),
  );
  return new Set(served.map(([name]) => name));
}

function byName(versions: readonly OfferedVersion[]): ReadonlyMap<string, readonly OfferedVersion[]> {
  const all = new Map<string, OfferedVersion[]>();
  for (const offer of versions) {
    const offers = all.get(offer.name) ?? [];
    offers.push(offer);
    all.set(offer.name, offers);
  }
  return all;
}

function isServed(table: ModelTable, { name, version, digest }: OfferedVersion): boolean {
  const row = table.get(name, version);
  return row?.state === 'ready' && row.reason === '' && row.digest === digest;
}

/** Number of looks per idle timeout. */
const IDLE_LOOKS = 4;

/**
 * Returns a look at all models, which puts idle ones to sleep: those without a new request in `IDLE_LOOKS` looks in a
 * row.
 */
function idleLook(deployment: Deployment, handles: ModelHandles): () => Promise<void> {
  let before = new Map<number, Seen>();
  return async () => {
    const seen = new Map<number, Seen>();
    for (const row of deployment.table.all()) {
      if (row.state !== 'ready' || handles.indexOf(row.handle) < 0) continue;
      const uses = handles.usesOf(row.handle);
      const last = before.get(row.handle);
      const looks = last?.uses === uses ? last.looks + 1 : 0;
      seen.set(row.handle, { uses, looks });
      if (looks >= IDLE_LOOKS) await deployment.sleep(row);
    }
    before = seen;
  };
}

/** Number of requests of a handle, and number of looks without more. */
interface Seen {
  readonly uses: number;
  readonly looks: number;
}

/** Progress of a start. */
function progress(entries: ServiceState['entries']): string {
  const wanted = entries.filter((entry) => !isUnloaded(entry));
  if (wanted.length === 0) return 'looking for models';
  const ready = wanted.filter(({ state }) => state === 'ready').length;
  const measured = wanted.find(({ reason }) => reason === MEASURING);
  const doing = measured === undefined ? 'loading the others' : `measuring ${measured.name}`;
  return `${ready} of ${wanted.length} models are ready; ${doing}`;
}

/** Explanation for clients of how models are loaded. */
const HOW_LOADED: Readonly<Record<DeploymentOptions['control'], string>> = {
  all: 'load it through the model repository',
  explicit: 'load it through the model repository',
  none: 'the server loads models when it starts',
  poll: 'the server loads it once its files are there and right',
};
