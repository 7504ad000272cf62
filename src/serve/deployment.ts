import { EscapementError } from '../base/errors.js';
import { pause } from '../base/world/pause.js';
import { REAL_TIME } from '../base/world/real-time.js';
import type { Time } from '../base/world/time.js';
import { NoWorker } from '../live/controller/fleet-models.js';
import type { ModelList, OfferedVersion } from '../live/model-list.js';
import { type ModelEntry, ServiceError } from '../live/service.js';
import { clientReason } from './client-reason.js';
import type { DeploymentEvents, DeploymentOptions, ModelHost } from './deployment-options.js';
import { IdleModels } from './idle-models.js';
import { coded, gone, noneServed, unknown, whatIsServed } from './model-errors.js';
import type { ModelHandles } from './model-handles.js';
import { type Deployed, ModelTable } from './model-table.js';
import { Said } from './said.js';
import { isUnloaded, listUnserved, MEASURING, NOT_SERVED, versionsOf, whyUnloaded } from './unserved.js';

/** Deploys models to the workers and removes them: decides which model runs in which version. */
export class Deployment {
  readonly table: ModelTable;
  /** Serializes changes of each model. */
  private readonly turns = new Turns();
  private isClosed = false;
  private readonly retirements: Retirements;
  private readonly idle: IdleModels;
  /** By model and version: problem already logged. */
  private readonly said = new Said();

  constructor(
    private readonly host: ModelHost,
    private readonly handles: ModelHandles,
    private readonly options: Pick<DeploymentOptions, 'isStrict' | 'dir'>,
    private readonly events: DeploymentEvents,
    /** Called after changes of the table. */
    changed: () => void,
    time: Time = REAL_TIME,
  ) {
    const table = new ModelTable(changed);
    this.table = table;
    this.retirements = new Retirements(host, handles, events, time);
    const reasonOf = (error: Error) => this.reasonOf(error);
    this.idle = new IdleModels({ table, handles, host, events, time, reasonOf });
  }

  /**
   * Deploys the model in its current version on the workers' disks. Rejects with a `ServiceError`, in which case the
   * previous version stays. `isAsked`: a caller waits for it, so every failure is logged, not only new ones.
   */
  load(name: string, isAsked: boolean): Promise<void> {
    return this.turns.take(name, async () => {
      if (isAsked) this.said.forget(name);
      const before = this.table.versions(name);
      const problems = await this.bring(name, true);
      if (problems.length === 0) return;
      const rest = whatIsServed(before, this.table.versions(name));
      throw new ServiceError(
        'failed',
        `model ${JSON.stringify(name)} cannot be loaded: ${this.reasonOf(problems[0])}${rest}`,
      );
    });
  }

  /** Resolves when its memory is free. Rejects with a `ServiceError` if there is no such model. */
  unload(name: string): Promise<void> {
    return this.turns.take(name, async () => {
      const rows = this.table.versions(name);
      if (rows.length === 0) throw unknown(name, this.host.away);
      const why = `model ${JSON.stringify(name)} is unloaded`;
      await Promise.all(
        rows.map(async (row) => {
          const { handle } = row;
          if (handle >= 0) {
            this.table.put({
              ...row,
              state: 'unloading',
              reason: 'being unloaded',
              handle: -1,
              digest: null,
            });
            const leave = () => this.handles.drop(handle, why);
            await this.retirements.retire(row, 'a client has unloaded it', leave);
          }
          const reason = whyUnloaded(row);
          this.table.put({ ...row, state: 'unavailable', reason, handle: -1, digest: null });
        }),
      );
    });
  }

  /**
   * Loads these models, those with a profile first; while no worker is up, waits for one. Rejects with the first
   * problem if `isStrict`, and with all of them if no model can be served.
   */
  async start(names: readonly string[]): Promise<void> {
    const problems = new Map<string, EscapementError>();
    const bring = async (name: string, mayMeasure: boolean) => {
      const attempt = () =>
        this.turns.take(name, () => this.bring(name, mayMeasure)).catch((error) => this.missing(name, error));
      let found = await attempt();
      while (!this.isClosed && found.some((error) => error instanceof NoWorker)) {
        await this.host.untilUp();
        found = await attempt();
      }
      if (this.options.isStrict && found.length > 0) throw found[0];
      if (found.length > 0) problems.set(name, found[0]);
    };
    for (const name of names) if (!this.isClosed) await bring(name, false);
    const unmeasured = names.filter((name) =>
      this.table.versions(name).some(({ state }) => state === 'loading'),
    );
    for (const name of unmeasured) if (!this.isClosed) await bring(name, true);
    const isAny = this.table.all().some(({ state }) => state === 'ready');
    if (!isAny && problems.size > 0) throw noneServed([...problems.values()]);
  }

  /** Adds running models, with which workers were started. */
  adopt(entries: readonly ModelEntry[]): void {
    this.table.batch(() => {
      for (const { name, version, index, model } of entries) {
        if (model === null) continue;
        const handle = this.handles.issue(model, index);
        const digest = model.digest ?? '';
        this.table.put({ name, version, state: 'ready', reason: '', handle, model, digest });
      }
    });
  }

  /** Lists models to be loaded, before they are. */
  announce(versions: readonly OfferedVersion[]): void {
    this.table.batch(() => {
      for (const { name, version } of versions) {
        const before = this.table.get(name, version);
        if (before !== null && !isUnloaded(before)) continue;
        this.table.put({ ...NOT_SERVED, name, version, state: 'loading', reason: 'waiting to be prepared' });
      }
    });
  }

  /** Lists models, or one, that lie on disk and are not loaded. */
  list(list: ModelList, name: string | null): void {
    const { table } = this;
    const rows = this.host.away.length > 0 ? [] : name === null ? table.all() : table.versions(name);
    table.batch(() => listUnserved(table, list, rows, (error) => this.reasonOf(error)));
    this.said.forgetOthers((model) => table.versions(model).length > 0);
  }

  /** Stops serving the model. */
  forget(name: string, why: string): Promise<void> {
    return this.turns.take(name, async () => {
      this.said.forget(name);
      this.dropOthers(name, new Set(), why);
    });
  }

  /** Frees the memory of a model until it is requested again. */
  sleep(row: Deployed): Promise<void> {
    return this.turns.take(row.name, async () => {
      const { handle, name, version } = row;
      if (this.handles.indexOf(handle) < 0 || this.table.get(name, version)?.handle !== handle) return;
      const why = 'it had no requests; the next one loads it';
      await this.retirements.retire(row, why, () => this.handles.sleep(handle), 0);
    });
  }

  /** Loads a sleeping model that was requested. */
  wake(handle: number): void {
    const row = this.table.all().find((each) => each.handle === handle);
    if (row === undefined) {
      this.handles.drop(handle, 'the model is gone');
      return;
    }
    void this.turns.take(row.name, () => this.idle.wake(row));
  }

  close(): void {
    this.isClosed = true;
  }

  /** Makes the served versions of a model match the workers'. Resolves with the failures. */
  private async bring(name: string, mayMeasure: boolean): Promise<EscapementError[]> {
    const list = await this.host.list(name).catch(coded);
    if (list instanceof EscapementError) return [list];
    const { versions, problems, notes } = list;
    if (versions.length === 0 && problems.length === 0) throw this.nothing(name);
    const errors: EscapementError[] = [];
    for (const { version, error } of problems) {
      errors.push(error);
      for (const one of version === null ? versionsOf(this.table, name) : [version])
        this.failed({ name, version: one }, error);
    }
    const wanted = this.wanted(versions, name);
    for (const note of notes) if (this.said.isNew(name, '', note)) this.events.warn({ model: name }, note);
    for (const found of wanted) {
      if (this.isClosed) return errors;
      await this.bringVersion(found, mayMeasure).catch((reason) => {
        const error = coded(reason);
        errors.push(error);
        this.failed(found, error);
      });
    }
    // Versions that cannot be replaced yet stay: the files may still be arriving.
    if (wanted.length > 0 && errors.length === 0) {
      const present = wanted.map(({ version }) => version);
      this.dropOthers(name, new Set(present), `version ${present.join(', ')} is served instead`);
    }
    this.list({ ...list, versions: wanted }, name);
    return errors;
  }

  /**
   * Versions to serve. One that stands in for a damaged one is not loaded next to the served one, but stays if it is
   * that.
   */
  private wanted(versions: readonly OfferedVersion[], name: string): readonly OfferedVersion[] {
    const served = this.table.versions(name).filter(({ state }) => state === 'ready');
    return versions.filter(
      ({ standsIn, version }) =>
        standsIn !== true || served.length === 0 || served.some((row) => row.version === version),
    );
  }

  /** Error that no worker has the model. */
  private nothing(name: string): ServiceError {
    const rows = this.table.versions(name);
    if (rows.some(({ handle }) => handle >= 0)) return gone(name);
    for (const { version } of rows) this.table.remove(name, version);
    return unknown(name, this.host.away);
  }

  private async bringVersion(
    { name, version, digest, isMeasured }: OfferedVersion,
    mayMeasure: boolean,
  ): Promise<void> {
    const before = this.table.get(name, version);
    const isServed = before?.state === 'ready';
    if (isServed && before.digest === digest) {
      this.table.put({ ...before, reason: '' });
      this.said.forget(name, version);
      return;
    }
    const isLater = !isMeasured && !mayMeasure;
    if (!isServed) {
      const reason = isLater ? 'waiting to be measured' : isMeasured ? 'being prepared' : MEASURING;
      this.table.put({ ...NOT_SERVED, name, version, state: 'loading', reason });
    }
    if (isLater) return;
    const { index, model } = await this.host.addModel({ name, version, digest });
    const handle = this.handles.issue(model, index);
    this.table.put({ name, version, state: 'ready', reason: '', handle, model, digest: model.digest ?? '' });
    this.said.forget(name, version);
    this.events.info({ model: name, version }, 'model is ready');
    if (before !== null && before.handle >= 0) {
      const leave = () => this.handles.replace(before.handle, handle);
      this.retirements.retireLater(before, 'newer files of it are served instead', leave);
    }
  }

  /** Stops serving versions that are no longer wanted. */
  private dropOthers(name: string, present: ReadonlySet<string>, why: string): void {
    for (const row of this.table.versions(name)) {
      const { version, handle } = row;
      if (present.has(version)) continue;
      this.table.remove(name, version);
      if (handle < 0) continue;
      const what = `version ${version} of model ${JSON.stringify(name)} is not served any more`;
      this.retirements.retireLater(row, why, () => this.handles.drop(handle, what));
    }
  }

  /** Problem of a named model that is missing. */
  private missing(name: string, { message }: Error): EscapementError[] {
    const error = new EscapementError('E_MODEL_FILE', message);
    for (const version of versionsOf(this.table, name)) this.failed({ name, version }, error);
    return [error];
  }

  private failed({ name, version }: Pick<Deployed, 'name' | 'version'>, error: Error): void {
    if (this.isClosed) return;
    const before = this.table.get(name, version);
    const isServed = before?.state === 'ready';
    if (this.said.isNew(name, version, error.message)) {
      const what = isServed
        ? 'the files on disk are rejected; the model loaded before stays in service'
        : 'model cannot be loaded';
      this.events.warn({ model: name, version, error: error.message }, what);
    }
    const why = this.reasonOf(error);
    this.table.put(
      isServed
        ? { ...before, reason: `serves the model loaded before; the files on disk are rejected: ${why}` }
        : { ...NOT_SERVED, name, version, state: 'unavailable', reason: `not available: ${why}` },
    );
  }

  private reasonOf(error: Error): string {
    return clientReason(error, this.options.dir);
  }
}

/** Time for frontends to learn of a change, during which a replaced model still takes requests. */
const LINGER_MS = 250;

/** The parts of a version that retiring needs. */
type Leaving = Pick<Deployed, 'name' | 'version' | 'handle'>;

/** Removes versions from the workers, and logs the reason. */
class Retirements {
  constructor(
    private readonly host: ModelHost,
    private readonly handles: ModelHandles,
    private readonly events: DeploymentEvents,
    private readonly time: Time,
  ) {}

  /**
   * `leave` redirects requests of the handle, called after frontends have had time to learn of it. Resolves when the
   * memory is free.
   */
  async retire(
    { name, version, handle }: Leaving,
    why: string,
    leave: () => void,
    lingerMs = LINGER_MS,
  ): Promise<void> {
    await pause(this.time, lingerMs);
    const index = this.handles.indexOf(handle);
    leave();
    if (index >= 0) await this.host.retireModel(index);
    this.events.info({ model: name, version, why }, 'unloaded');
  }

  /** Retires in the background. */
  retireLater(leaving: Leaving, why: string, leave: () => void): void {
    this.retire(leaving, why, leave).catch(({ message }: Error) =>
      this.events.warn({ error: message }, 'a model cannot be retired'),
    );
  }
}

/** Serializes work by name, in order of arrival. */
class Turns {
  private readonly last = new Map<string, Promise<unknown>>();

  take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(name) ?? Promise.resolve();
    const result = before.then(work);
    const done = result.then(
      () => {},
      () => {},
    );
    this.last.set(name, done);
    void done.then(() => {
      if (this.last.get(name) === done) this.last.delete(name);
    });
    return result;
  }
}
