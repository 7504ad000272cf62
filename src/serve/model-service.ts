import { EscapementError } from '../base/errors.js';
import { NS_PER_MS, NS_PER_S } from '../base/units.js';
import { pause } from '../base/world/pause.js';
import { REAL_TIME } from '../base/world/real-time.js';
import type { Time, Timer } from '../base/world/time.js';
import type { PipelineDefinition } from '../core/pipeline-definition.js';
import { NoWorker } from '../live/controller/fleet-models.js';
import { NO_WORKER } from '../live/controller/served-state.js';
import { type ModelList, NO_MODELS, type OfferedVersion } from '../live/model-list.js';
import type { StatisticsCollector } from '../live/observe/model-statistics.js';
import type { ModelLabels } from '../live/observe/telemetry/labels.js';
import {
  type InferenceService,
  type ModelEntry,
  type ModelStatistics,
  type SchedulingService,
  ServiceError,
  type ServiceState,
  STANDS_BY,
  type WatchedService,
} from '../live/service.js';
import { Turns } from '../live/turns.js';
import { within } from '../live/within.js';
import {
  type DeploymentEvents,
  type DeploymentOptions,
  type ModelHost,
  startNeeds,
} from './deployment-options.js';
import { clientReason, coded, gone, noneServed, noSuchModel, unknown, whatIsServed } from './model-errors.js';
import { ModelHandles } from './model-handles.js';
import { type Deployed, isUnloaded, ModelTable, NOT_SERVED, shownState } from './model-table.js';
import { ServedPipelines } from './served-pipelines.js';

/** Time that a request for the index waits for a look at the disk, which profiling of a model may delay. */
const LOOK_NS = NS_PER_S;
/** Time that inferences wait for the workers of a controller that ends. */
const TAKE_OVER_NS = 2 * NS_PER_S;
/** Time for frontends to learn of a change, during which a replaced model still takes requests. */
const LINGER_MS = 250;
/** Models under way at a start: workers use as many threads as they have cores. */
const MOST_AT_ONCE = 16;
/** Pause between two notifications of changes: a shorter one is skipped, a longer one cut. */
const SHORTEST_PAUSE_MS = 5;
const LONGEST_TELL_PAUSE_MS = 100;
/** Number of looks per idle timeout. */
const IDLE_LOOKS = 4;
/** Delay of a retry after a failure to load a sleeping model; doubles up to the maximum. */
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;

/** The cluster that executes, once enough workers are up. */
interface Running {
  readonly service: SchedulingService;
  readonly host: ModelHost;
  readonly handles: ModelHandles;
  readonly statistics: Pick<StatisticsCollector, 'read' | 'listed'>;
}

/** Options for bringing a model into service. */
interface Bringing {
  /** False to leave a model without a profile for later. */
  readonly mayMeasure: boolean;
  /** True if a caller waits for it, so that every failure is logged, not only new ones. */
  readonly isAsked: boolean;
}

/**
 * The service that frontends call: models of the workers' repositories, which change while it runs. It decides which model
 * runs in which version. Until the cluster is there it is not ready and has no models.
 */
export class ModelService implements WatchedService {
  private known: ServiceState = { notReady: NO_WORKER, entries: [] };
  /** True if `known` is older than the last change. */
  private isStale = false;
  /** Pause before the next notification; null: none. */
  private telling: Timer | null = null;
  /** Resolves when all watchers know of the last change. */
  private notified: Promise<unknown> = Promise.resolve();
  /** `infer` of the handles once there is a cluster; until then it throws. */
  infer: InferenceService['infer'] = () => this.there;
  private running: Running | null = null;
  private readonly table = new ModelTable(() => this.replace());
  private readonly pipelines: ServedPipelines;
  /** Serializes changes of each model. */
  private readonly turns = new Turns<string>();
  private readonly watchers = new Set<() => unknown>();
  private readonly timers: Timer[] = [];
  /** By model: configuration that a client gave in place of that on disk, as JSON. */
  private readonly configs = new Map<string, string>();
  /** Models that were requested while they were loading, until the start is over. */
  private readonly wanted = new Set<string>();
  private isStarting = true;
  private isClosed = false;
  /** Look at the disk requested by clients; null: none in progress. */
  private looking: Promise<void> | null = null;
  /** Takeover from another controller; null: none in progress. */
  private takingOver: Promise<void> | null = null;
  /** Failure to list the models that was logged last; null after a success. */
  private complaint: Error | null = null;

  constructor(
    private readonly options: DeploymentOptions,
    private readonly events: DeploymentEvents,
    /** Labels of its models in metrics. */
    private readonly labels: ModelLabels,
    /** Clock of requests. */
    readonly nowNs: () => number,
    private readonly time: Time = REAL_TIME,
    pipelines: readonly PipelineDefinition[] = [],
  ) {
    this.pipelines = new ServedPipelines(pipelines);
  }

  /** Sets the cluster, with the models that its workers have from the start. */
  attach(service: SchedulingService, host: ModelHost, statistics: Running['statistics']): void {
    const handles = new ModelHandles(service, (handle) => this.wake(handle), this.time);
    this.running = { service, host, handles, statistics };
    this.infer = handles.infer;
    this.adopt(service.state.entries);
    this.replace();
    service.watch(() => this.replace());
  }

  /**
   * Loads the models configured for the start while it already answers: those with a profile first. Rejects with the coded
   * error of a problem that must end the server.
   */
  async start(): Promise<void> {
    const { control, isStrict, pollNs, idleNs } = this.options;
    const { table } = this;
    const kept = this.adoptKept();
    if (kept.size > 0) {
      this.isStarting = false;
      this.replace();
    }
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
    const running = new Set(table.all().flatMap(({ name, handle }) => (handle < 0 ? [] : name)));
    for (const name of running)
      if (!wanted.has(name)) await this.forget(name, '--load-model does not name it');
    if (wanted.size === 0) this.events.info({}, NONE_YET[control]);
    const asFound = this.servedAsFound(list);
    await this.startAll([...wanted].filter((name) => !asFound.has(name))).catch((error) => {
      // Absent workers, or the next look, may bring the missing models.
      if (isStrict || (control !== 'poll' && this.isComplete)) throw error;
    });
    this.pipelines.refresh(this.place);
    const isChosen = (name: string) =>
      control !== 'explicit' || ['*', name].some((each) => this.options.names.includes(each));
    const [problem] = isStrict ? this.pipelines.problems(isChosen) : [];
    if (problem !== undefined) throw new EscapementError('E_MODEL_FILE', problem);
    this.isStarting = false;
    this.wanted.clear();
    this.replace();
    if (control === 'poll') this.every(pollNs, () => this.poll());
    if (idleNs !== null) this.every(idleNs / IDLE_LOOKS, this.idleLook());
    await this.tellNow();
  }

  /** Call when a worker has come up: retries models that could not be served, unless a worker they need is absent. */
  workersCame(): void {
    if (this.isStarting || this.there.host.away.length > 0) return;
    this.retry().catch((error) => this.complain(error));
  }

  get state(): ServiceState {
    if (!this.isStale) return this.known;
    this.isStale = false;
    const state = this.build();
    this.known = this.takingOver === null ? state : { ...state, notReady: null, takesOver: true };
    return this.known;
  }

  watch(changed: () => unknown): () => void {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  }

  /** The previous version stays if that fails. */
  async load(name: string, config?: string): Promise<void> {
    this.checkControl();
    await this.bringIn(name, config).finally(() => this.tellNow());
  }

  async wants(name: string): Promise<void> {
    if (this.isStarting) this.wanted.add(name);
  }

  /** Resolves when its memory is free. */
  async unload(name: string): Promise<void> {
    this.checkControl();
    const { table } = this;
    await this.turns.take(name, async () => {
      const rows = table.versions(name);
      if (this.pipelines.modelsOf(name) !== undefined)
        throw new ServiceError(
          'invalid',
          `${name} is a pipeline, served while its models are: unload one of them`,
        );
      if (rows.length === 0) throw unknown(name, this.there.host.away);
      this.configs.delete(name);
      await Promise.all(
        rows.map(async (row) => {
          if (row.handle >= 0) {
            table.put({ ...row, status: 'unloading', problem: '', handle: -1, digest: null });
            const leave = () =>
              this.there.handles.drop(row.handle, `model ${JSON.stringify(name)} is unloaded`);
            await this.retire(row, 'a client has unloaded it', leave);
          }
          const { status } = row;
          const isFailed = row.handle < 0 && (status === 'failed' || status === 'withdrawn');
          table.put({
            ...{ ...row, status: isFailed ? 'withdrawn' : 'unloaded', handle: -1, digest: null },
            problem: row.handle < 0 ? row.problem : '',
          });
        }),
      );
    });
    await this.tellNow();
  }

  takeOver(): Promise<void> {
    this.takingOver ??= this.untilReady().finally(() => {
      this.takingOver = null;
      this.replace();
      return this.tellNow();
    });
    this.there.host.takeOver();
    return this.takingOver;
  }

  async look(): Promise<void> {
    if (this.isStarting || this.options.control === 'poll') return;
    const look = async () => this.list(await this.listAll(), null);
    this.looking ??= look()
      .catch((error) => this.complain(error))
      .finally(() => {
        this.looking = null;
        return this.tellNow();
      });
    await within(this.time, this.looking, LOOK_NS);
  }

  async statistics(): Promise<readonly ModelStatistics[]> {
    return this.running?.statistics.read(this.state.entries) ?? [];
  }

  /** Stops all changes of models. */
  close(): void {
    this.isClosed = true;
    for (const timer of this.timers) timer.cancel();
  }

  /** Parts of this server that pipelines need. */
  private get place(): Parameters<ServedPipelines['refresh']>[0] {
    const { table } = this;
    const { host, handles } = this.there;
    return {
      ...{ table, handles, keeps: host.away.length > 0, isStarting: this.isStarting },
      put: (index, pipeline) => host.putPipeline(index, pipeline),
      events: this.events,
      reasonOf: (error) => this.reasonOf(error),
    };
  }

  private get there(): Running {
    if (this.running !== null) return this.running;
    throw new ServiceError('notReady', `the server is not ready: ${NO_WORKER}`);
  }

  /** True if all workers that may bring models are up. */
  private get isComplete(): boolean {
    const { away, isOpen } = this.there.host;
    return away.length === 0 && !isOpen;
  }

  /** Adds running models. */
  private adopt(entries: readonly ModelEntry[]): void {
    this.table.batch(() => {
      for (const { name, version, index, model } of entries) {
        if (model === null) continue;
        const handle = this.there.handles.issue(model, index);
        this.configure(name, model.config);
        const digest = model.digest ?? '';
        this.table.put({ name, version, status: 'ready', problem: '', handle, model, digest });
      }
    });
  }

  /** Takes up models that workers have from an earlier controller. Returns their names. */
  private adoptKept(): ReadonlySet<string> {
    const { service, handles } = this.there;
    const { served } = handles;
    const kept = service.state.entries.filter(
      ({ name, version, index, model }) =>
        model?.isPipeline !== true &&
        !served.has(index) &&
        (this.table.get(name, version)?.handle ?? -1) < 0 &&
        !this.turns.isBusy(name),
    );
    this.adopt(kept);
    return new Set(kept.map(({ name }) => name));
  }

  /** Waits while no worker is up. With `poll` the repository itself may appear later, as a mounted folder does. */
  private async firstSurvey(): Promise<Survey> {
    const { control, isStrict, pollNs } = this.options;
    for (;;) {
      try {
        return await this.survey();
      } catch (error) {
        if (error instanceof NoWorker) {
          await this.there.host.untilUp();
          continue;
        }
        if (control !== 'poll' || isStrict) throw error;
        this.complain(error as Error);
        this.replace();
        await new Promise<void>((resolve) => this.time.after(pollNs / NS_PER_MS, resolve).unref());
      }
    }
  }

  /** Available models, and the names of those to serve, which it lists. */
  private async survey(): Promise<Survey> {
    const { control, names } = this.options;
    const { table } = this;
    const list = await this.listAll().catch((error) => {
      if (this.isComplete || error instanceof NoWorker) throw error;
      return NO_MODELS;
    });
    const { versions, problems } = list;
    this.pipelines.list(list, null, this.place);
    // Pipelines bring the models of their steps.
    const models = names.filter((name) => this.pipelines.modelsOf(name) === undefined);
    const chosen = new Set(names.flatMap((name) => this.pipelines.modelsOf(name) ?? name));
    const isChosen = (name: string) => control !== 'explicit' || chosen.has('*') || chosen.has(name);
    const known = [...new Set([...versions, ...problems].map(({ name }) => name))];
    const wanted = new Set(known.filter(isChosen));
    if (control === 'explicit') for (const name of models) if (name !== '*') wanted.add(name);
    table.batch(() => {
      for (const { name, version } of versions) {
        const before = table.get(name, version);
        if (isChosen(name) && (before === null || isUnloaded(before)))
          table.put({ ...NOT_SERVED, name, version, status: 'waiting' });
      }
    });
    this.list(list, null);
    return { list, known, wanted };
  }

  /**
   * Names of models served exactly as offered. A start need not ask the workers about each of these again,
   * which would take long with thousands.
   */
  private servedAsFound({ versions, problems }: ModelList): ReadonlySet<string> {
    const served = versionsByName(
      this.table
        .all()
        .map((row) => (row.status === 'ready' && row.problem === '' ? row : { ...row, digest: null })),
    );
    const offered = versionsByName([
      ...versions,
      ...problems.map((problem) => ({ ...problem, digest: '?' })),
    ]);
    return new Set(this.table.names.filter((name) => served.get(name) === offered.get(name)));
  }

  /** Rejects with the first problem if the start is strict, and with all of them if no model can be served. */
  private async startAll(names: readonly string[]): Promise<void> {
    const { table } = this;
    const problems = new Map<string, EscapementError>();
    const bring = async (name: string, mayMeasure: boolean) => {
      const attempt = () =>
        this.turns
          .take(name, () => this.bring(name, { mayMeasure, isAsked: false }))
          .catch((error) => this.missing(name, error));
      let found = await attempt();
      while (!this.isClosed && found.some((error) => error instanceof NoWorker)) {
        await this.there.host.untilUp();
        found = await attempt();
      }
      if (this.options.isStrict && found.length > 0) throw found[0];
      if (found.length > 0) problems.set(name, found[0]);
    };
    await this.atOnce(names, (name) => bring(name, false));
    const unmeasured = names.filter((name) =>
      table.versions(name).some((row) => shownState(row).state === 'loading'),
    );
    await this.atOnce(unmeasured, (name) => bring(name, true));
    const isAny = table.all().some(({ status }) => status === 'ready');
    const inOrder = names.flatMap((name) => problems.get(name) ?? []);
    if (!isAny && inOrder.length > 0) throw noneServed(inOrder);
  }

  /** Works on several models at a time: those that were requested first, and in this order. */
  private async atOnce(names: readonly string[], work: (name: string) => Promise<void>): Promise<void> {
    const rest = new Set(names);
    const next = () => {
      for (const name of this.wanted) if (rest.has(name)) return name;
      return rest.values().next().value;
    };
    const turn = async () => {
      for (let name = next(); name !== undefined && !this.isClosed; name = next()) {
        rest.delete(name);
        await work(name);
      }
    };
    await Promise.all(Array.from({ length: Math.min(MOST_AT_ONCE, names.length) }, turn));
  }

  private async retry(): Promise<void> {
    const { table } = this;
    const kept = this.adoptKept();
    // Those that came may have other models.
    const { list } = await this.survey();
    const asFound = this.servedAsFound(list);
    for (const name of table.names) {
      const rows = table.versions(name);
      const isServed = rows.some(({ status }) => status === 'ready');
      const isRight = isServed ? !kept.has(name) || asFound.has(name) : rows.every(isUnloaded);
      if (!isRight) await this.renew(name);
    }
  }

  private async poll(): Promise<void> {
    const list = await this.listAll();
    const present = new Set([...list.versions, ...list.problems].map(({ name }) => name));
    this.pipelines.list(list, null, this.place);
    this.replace();
    for (const name of present) await this.renew(name);
    for (const name of this.table.names)
      if (!present.has(name)) await this.forget(name, 'its folder is gone');
  }

  private async listAll(): Promise<ModelList> {
    const list = await this.there.host.list(null);
    this.complaint = null;
    return list;
  }

  /** Logs a failure once, until a look has succeeded. */
  private complain(error: Error): void {
    const { message } = error;
    if (this.complaint?.message !== message) this.events.warn({ error: message }, 'cannot list the models');
    this.complaint = error;
  }

  private checkControl(): void {
    if (this.there.service.state.notReady === STANDS_BY)
      throw new ServiceError('notReady', `the server is not ready: ${STANDS_BY}`);
    const { control } = this.options;
    if (control !== 'none' && control !== 'poll') return;
    throw new ServiceError(
      'invalid',
      `models cannot be loaded or unloaded by clients here: the server runs with --model-control ${control}`,
    );
  }

  /** Makes the model match the workers' disks; `isAsked`: a client waits for that. Never rejects. */
  private async renew(name: string, isAsked = false): Promise<void> {
    await this.turns.take(name, () => this.bring(name, { mayMeasure: true, isAsked })).catch(() => {});
  }

  /**
   * Deploys the model in its current version on the workers' disks, for a client, with that `config`. Rejects with a
   * `ServiceError`.
   */
  private bringIn(name: string, config: string | undefined): Promise<void> {
    return this.turns.take(name, async () => {
      const before = this.table.versions(name);
      const last = this.configs.get(name);
      this.configure(name, config);
      const [problem] = await this.bring(name, { mayMeasure: true, isAsked: true });
      if (problem === undefined) return;
      this.configure(name, last);
      const rest = whatIsServed(before, this.table.versions(name));
      const why = `model ${JSON.stringify(name)} cannot be loaded: ${this.reasonOf(problem)}${rest}`;
      throw new ServiceError('failed', why);
    });
  }

  /** Sets the configuration that a client gave in place of that on disk; undefined: none. */
  private configure(name: string, config: string | undefined): void {
    if (config === undefined) this.configs.delete(name);
    else this.configs.set(name, config);
  }

  /** Makes the served versions of a model match the workers'. Resolves with the failures. */
  private async bring(name: string, how: Bringing): Promise<EscapementError[]> {
    const { table } = this;
    const list = await this.there.host.list(name, this.configs.get(name)).catch(coded);
    if (list instanceof EscapementError) return [list];
    const { versions, problems, notes } = list;
    this.pipelines.list(list, name, this.place);
    const steps = this.pipelines.modelsOf(name);
    if (steps !== undefined && versions.length === 0) {
      this.dropOthers(name, [], 'a pipeline has its name');
      const isMissing = (model: string) =>
        this.pipelines.modelsOf(model) === undefined &&
        table.versions(model).every(({ status }) => status !== 'ready');
      for (const model of how.isAsked ? steps : []) if (isMissing(model)) await this.renew(model, true);
      this.replace();
      const why = this.pipelines.problemOf(name);
      return why === '' ? [] : [new EscapementError('E_MODEL_FILE', why)];
    }
    if (versions.length === 0 && problems.length === 0) throw this.nothing(name);
    const errors: EscapementError[] = [];
    for (const { version, error } of problems) {
      errors.push(error);
      for (const one of version === null ? table.affected(name) : [version])
        this.failed(name, one, error, table.get(name, one), how);
    }
    // A substitute for a damaged version is not loaded next to the served one, but stays if it is the served one.
    const served = table.versions(name).filter(({ status }) => status === 'ready');
    const wanted = versions.filter(
      ({ standsIn, version }) =>
        standsIn !== true || served.length === 0 || served.some((row) => row.version === version),
    );
    let isNews = false;
    for (const found of wanted) {
      if (this.isClosed) return errors;
      const before = table.get(name, found.version);
      try {
        if (await this.bringVersion(found, before, how)) isNews = true;
      } catch (reason) {
        const error = coded(reason);
        errors.push(error);
        this.failed(name, found.version, error, before, how);
      }
    }
    if (isNews) for (const note of notes) this.events.warn({ model: name }, note);
    // Versions that cannot be replaced yet stay: the files may still be arriving.
    if (wanted.length > 0 && errors.length === 0) {
      const present = wanted.map(({ version }) => version);
      this.dropOthers(name, present, `version ${present.join(', ')} is served instead`);
    }
    this.list({ ...list, versions: wanted }, name);
    return errors;
  }

  /** True if it was loaded. */
  private async bringVersion(
    { name, version, digest, isMeasured, isProvisional = false, workers = [] }: OfferedVersion,
    before: Deployed | null,
    { mayMeasure, isAsked }: Bringing,
  ): Promise<boolean> {
    const { table } = this;
    const isServed = before?.status === 'ready';
    const { host, handles } = this.there;
    const isRefined = isAsked && before?.model?.isProvisional === true && !isProvisional;
    if (isServed && before.digest === digest && !isRefined) {
      await host.spread(handles.indexOf(before.handle), workers);
      table.put({ ...before, problem: '' });
      return false;
    }
    const isLater = !isMeasured && !mayMeasure;
    if (!isServed) {
      const status = isLater ? 'unmeasured' : isMeasured ? 'preparing' : 'measuring';
      table.put({ ...NOT_SERVED, name, version, status });
    }
    if (isLater) return false;
    const reference = { name, version, digest, config: this.configs.get(name) };
    const { index, model } = await host.addModel(reference);
    const handle = handles.issue(model, index);
    table.put({ name, version, status: 'ready', problem: '', handle, model, digest: model.digest ?? '' });
    this.events.info({ model: name, version }, 'model is ready');
    if (before !== null && before.handle >= 0) {
      const leave = () => handles.replace(before.handle, handle);
      const why = isRefined ? 'it has been measured in full' : 'newer files of it are served instead';
      this.retireLater(before, why, leave);
    }
    return true;
  }

  /** Error that no worker has the model. */
  private nothing(name: string): ServiceError {
    const rows = this.table.versions(name);
    if (rows.some(({ handle }) => handle >= 0)) return gone(name);
    for (const { version } of rows) this.table.remove(name, version);
    return unknown(name, this.there.host.away);
  }

  /** Problem of a named model that is missing. */
  private missing(name: string, { message }: Error): EscapementError[] {
    const error = new EscapementError('E_MODEL_FILE', message);
    for (const version of this.table.affected(name))
      this.failed(name, version, error, this.table.get(name, version));
    return [error];
  }

  /** `before`: its row before the attempt. */
  private failed(
    name: string,
    version: string,
    error: Error,
    before: Deployed | null,
    how: Pick<Bringing, 'isAsked'> = { isAsked: false },
  ): void {
    if (this.isClosed) return;
    const isServed = before?.status === 'ready';
    const problem = this.reasonOf(error);
    const row: Deployed = isServed
      ? { ...before, problem }
      : { ...NOT_SERVED, name, version, status: 'failed', problem };
    if (how.isAsked || before?.status !== row.status || before.problem !== problem) {
      const what = isServed
        ? 'its replacement is rejected; the model loaded before stays in service'
        : 'model cannot be loaded';
      this.events.warn({ model: name, version, error: error.message }, what);
    }
    this.table.put(row);
  }

  /** Lists models, or one, that lie on disk and are not loaded. */
  private list(list: ModelList, name: string | null): void {
    const { table } = this;
    const rows = this.there.host.away.length > 0 ? [] : name === null ? table.all() : table.versions(name);
    const problems = list.problems.filter((each) => this.pipelines.modelsOf(each.name) === undefined);
    table.list({ ...list, problems }, rows, (error) => this.reasonOf(error));
  }

  /** Stops serving the model. */
  private forget(name: string, why: string): Promise<void> {
    return this.turns.take(name, async () => this.dropOthers(name, [], why));
  }

  /** Stops serving versions that are no longer wanted. */
  private dropOthers(name: string, present: readonly string[], why: string): void {
    for (const row of this.table.versions(name)) {
      const { version, handle } = row;
      if (present.includes(version)) continue;
      this.table.remove(name, version);
      if (handle < 0) continue;
      const what = `version ${version} of model ${JSON.stringify(name)} is not served any more`;
      this.retireLater(row, why, () => this.there.handles.drop(handle, what));
    }
  }

  /**
   * Removes a version from the workers. `leave` redirects requests of its handle, called after frontends have had time to
   * learn of it. Resolves when the memory is free.
   */
  private async retire(
    { name, version, handle }: Deployed,
    why: string,
    leave: () => void,
    lingerMs = LINGER_MS,
  ): Promise<void> {
    await pause(this.time, lingerMs);
    const { handles, host } = this.there;
    const index = handles.indexOf(handle);
    leave();
    if (index >= 0) await host.retireModel(index);
    this.events.info({ model: name, version, why }, 'unloaded');
  }

  /** Retires in the background. */
  private retireLater(row: Deployed, why: string, leave: () => void): void {
    this.retire(row, why, leave).catch(({ message }: Error) =>
      this.events.warn({ error: message }, 'a model cannot be retired'),
    );
  }

  /**
   * Returns a look at all models, which puts those to sleep that had no request in `IDLE_LOOKS` looks in a row. Looks while
   * the server is not ready do not count.
   */
  private idleLook(): () => Promise<void> {
    let before = new Map<number, { readonly uses: number; readonly looks: number }>();
    return async () => {
      const { handles, service } = this.there;
      const seen: typeof before = new Map();
      const isReady = service.state.notReady === null;
      for (const row of this.table.all()) {
        if (row.status !== 'ready' || handles.indexOf(row.handle) < 0) continue;
        if (this.pipelines.needs(row.handle)) continue;
        const uses = handles.usesOf(row.handle);
        const last = before.get(row.handle);
        const looks = isReady && last?.uses === uses ? last.looks + 1 : 0;
        seen.set(row.handle, { uses, looks });
        if (looks >= IDLE_LOOKS) await this.sleep(row);
      }
      before = seen;
    };
  }

  /** Frees the memory of a model until it is requested again. */
  private sleep(row: Deployed): Promise<void> {
    const { handle, name, version } = row;
    const { handles } = this.there;
    return this.turns.take(name, async () => {
      if (handles.indexOf(handle) < 0 || this.table.get(name, version)?.handle !== handle) return;
      const why = 'it had no requests; the next one loads it';
      await this.retire(row, why, () => handles.sleep(handle), 0);
    });
  }

  /** Loads a sleeping model that was requested. */
  private wake(handle: number): void {
    const { handles, host } = this.there;
    const row = this.table.all().find((each) => each.handle === handle);
    if (row === undefined) {
      handles.drop(handle, 'the model is gone');
      return;
    }
    const { name, version } = row;
    void this.turns.take(name, async () => {
      // The model may have changed before its turn came.
      const now = this.table.get(name, version);
      if (now?.handle !== handle) return;
      try {
        const { index } = await host.addModel({
          ...{ name, version, digest: now.digest ?? '', config: this.configs.get(name) },
        });
        handles.awake(handle, index);
        const { pauseMs: _, ...rested } = now;
        this.table.put(rested);
        this.events.info({ model: name, version }, 'loaded again');
      } catch (error) {
        this.rest(now, error as Error);
      }
    });
  }

  /** Rejects requests of a model that cannot be loaded again, for a while; the first one after that retries. */
  private rest(row: Deployed, error: Error): void {
    const { table, there } = this;
    const { name, version, handle } = row;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * (row.pauseMs ?? FIRST_PAUSE_MS / 2));
    this.events.warn({ model: name, version, error: error.message, pauseMs }, 'model cannot be loaded again');
    const why = `cannot be loaded again: ${this.reasonOf(error)}`;
    const problem = `it ${why}; requests after ${pauseMs / 1000} s try again`;
    table.put({ ...row, status: 'failed', problem });
    there.handles.drop(handle, `model ${JSON.stringify(name)} ${why}`);
    const retry = () => {
      if (table.get(name, version)?.handle !== handle) return;
      there.handles.sleep(handle);
      table.put({ ...row, pauseMs });
    };
    this.time.after(pauseMs, retry).unref();
  }

  private reasonOf(error: Error): string {
    return clientReason(error, this.options.dirs);
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

  private async untilReady(): Promise<void> {
    const ready = new Promise<void>((resolve) => {
      const unwatch = this.watch(() => {
        const { notReady, takesOver = false } = this.build();
        if (notReady !== null || takesOver) return;
        unwatch();
        resolve();
      });
    });
    await within(this.time, ready, TAKE_OVER_NS);
  }

  private replace(): void {
    this.pipelines.refresh(this.place);
    this.isStale = true;
    if (this.telling === null) this.tell();
  }

  /** Notifies watchers of a change. The cost grows with the models, so pauses keep it to a fifth of the time. */
  private tell(): void {
    const beganNs = this.time.monotonicNs();
    this.there.statistics.listed(this.state.entries);
    this.notified = Promise.all([...this.watchers].map((changed) => changed()));
    const pauseMs = (4 * (this.time.monotonicNs() - beganNs)) / NS_PER_MS;
    if (pauseMs < SHORTEST_PAUSE_MS) return;
    const { known } = this;
    this.telling = this.time
      .after(Math.min(pauseMs, LONGEST_TELL_PAUSE_MS), () => {
        this.telling = null;
        if (this.isStale || this.known !== known) this.tell();
      })
      .unref();
  }

  /** Notifies watchers at once; resolves when all know of the change. */
  private async tellNow(): Promise<void> {
    if (this.telling !== null) {
      this.telling.cancel();
      this.telling = null;
      this.tell();
    }
    await this.notified;
  }

  private build(): ServiceState {
    const { service, host, handles } = this.there;
    const blocked = new Map(
      service.state.entries.flatMap((entry) =>
        entry.blocked === undefined ? [] : [[entry.index, { blocked: entry.blocked }]],
      ),
    );
    const blockedOf = (handle: number) => blocked.get(handles.indexOf(handle)) ?? {};
    const models = this.table.entries(this.labels, blockedOf);
    const entries = [...models, ...this.pipelines.entries(this.labels, blockedOf)];
    const { notReady, takesRequests = false, takesOver = false } = service.state;
    const same = { howLoaded: HOW_LOADED[this.options.control], entries };
    if (notReady !== null || takesOver) return { notReady, takesRequests, takesOver, ...same };
    if (this.isStarting) {
      const { complaint } = this;
      const what = complaint === null ? progress(this.table.all()) : this.reasonOf(complaint);
      return { notReady: `starting: ${what}`, takesRequests: true, ...same };
    }
    const isEmpty = entries.length === 0 && host.away.length > 0;
    const why = `there is no model, and some workers are absent: ${host.away.join(', ')}`;
    return { notReady: isEmpty ? why : null, ...same };
  }
}

/** Versions of each model with their digests, as a text. */
function versionsByName(
  versions: readonly {
    readonly name: string;
    readonly version: string | null;
    readonly digest: string | null;
  }[],
): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { name, version, digest } of versions)
    texts.set(name, `${texts.get(name) ?? ''}${version} ${digest}\n`);
  return texts;
}

/** Models found at the start of a server. */
interface Survey {
  readonly list: ModelList;
  readonly known: readonly string[];
  readonly wanted: Set<string>;
}

/** Log line for a start without models. */
const NONE_YET: Readonly<Record<DeploymentOptions['control'], string>> = {
  all: 'no worker that is up has a model; workers that come later may bring some',
  none: 'no worker that is up has a model; workers that come later may bring some',
  explicit: 'no model is loaded at the start: clients load them, or --load-model names some',
  poll: 'there is no model yet; models are served as soon as they appear',
};

/** Progress of a start. */
function progress(rows: readonly Deployed[]): string {
  const wanted = rows.filter((row) => !isUnloaded(row));
  if (wanted.length === 0) return 'looking for models';
  const ready = wanted.filter(({ status }) => status === 'ready').length;
  const measured = wanted.find(({ status }) => status === 'measuring');
  const doing = measured === undefined ? 'loading the others' : `measuring ${measured.name}`;
  return `${ready} of ${wanted.length} models are ready; ${doing}`;
}

/** Explanation for clients of how models are loaded. */
const HOW_LOADED: Readonly<Record<DeploymentOptions['control'], string>> = {
  all: 'load it through the model repository',
  explicit: 'load it through the model repository',
  none: 'the server loads models when it starts',
  poll: 'the server loads it as soon as its files are complete and valid',
};
