import { EscapementError } from '../base/errors.js';
import type { OfferedVersion } from '../live/model-list.js';
import { type ModelEntry, ServiceError } from '../live/service.js';
import { clientReason } from './client-reason.js';
import type { DeploymentEvents, DeploymentOptions, ModelHost } from './deployment-options.js';
import { IdleModels } from './idle-models.js';
import { coded, gone, unknown, whatIsServed } from './model-errors.js';
import { type Deployed, ModelTable } from './model-table.js';
import { Said } from './said.js';
import type { Tickets } from './tickets.js';

/** How long frontends may take to learn of a change: so long a model that was replaced still takes requests. */
const LINGER_MS = 250;

/** Brings models to the workers and takes them away: what runs of which model is its decision. */
export class Deployment {
  readonly table = new ModelTable();
  /** By model: one change at a time. */
  private readonly turns = new Map<string, Promise<unknown>>();
  /** What is being retired. */
  private readonly retiring = new Set<Promise<void>>();
  private isClosed = false;
  private readonly idle: IdleModels;
  /** By model and version: the problem that the log has already. */
  private readonly said = new Said();

  constructor(
    private readonly host: ModelHost,
    private readonly tickets: Tickets,
    private readonly options: Pick<DeploymentOptions, 'isStrict' | 'dir'>,
    private readonly events: DeploymentEvents,
    /** The table has changed. */
    private readonly changed: () => void,
  ) {
    const { table } = this;
    const reasonOf = (error: Error) => this.reasonOf(error);
    this.idle = new IdleModels({
      table,
      tickets,
      host,
      events,
      put: (row) => this.put(row),
      reasonOf,
    });
  }

  /**
   * The model as the workers have it on disk. Rejects with a `ServiceError`; then what was served goes on being served.
   * `isAsked`: somebody waits for it, so the log has every failure; otherwise what is new.
   */
  load(name: string, isAsked: boolean): Promise<void> {
    return this.inTurn(name, async () => {
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
    return this.inTurn(name, async () => {
      const rows = this.table.versions(name);
      if (rows.length === 0) throw unknown(name, this.host.away);
      const why = `model ${JSON.stringify(name)} is unloaded`;
      await Promise.all(
        rows.map(async (row) => {
          const { ticket } = row;
          if (ticket >= 0) {
            this.put({ ...row, state: 'unloading', reason: 'being unloaded', ticket: -1, digest: null });
            await this.retire(ticket, () => this.tickets.drop(ticket, why));
          }
          this.put({ ...row, state: 'unavailable', reason: whyUnloaded(row), ticket: -1, digest: null });
        }),
      );
      this.events.info({ model: name }, 'unloaded');
    });
  }

  /**
   * Loads these models, first those that need no measuring. Rejects with the first problem if `isStrict`, or if none of
   * them can be served.
   */
  async start(names: readonly string[]): Promise<void> {
    const problems: EscapementError[] = [];
    const bring = async (name: string, mayMeasure: boolean) => {
      const found = await this.inTurn(name, () => this.bring(name, mayMeasure)).catch((error) =>
        this.missing(name, error),
      );
      if (this.options.isStrict && found.length > 0) throw found[0];
      problems.push(...found);
    };
    for (const name of names) if (!this.isClosed) await bring(name, false);
    const unmeasured = names.filter((name) =>
      this.table.versions(name).some(({ state }) => state === 'loading'),
    );
    for (const name of unmeasured) if (!this.isClosed) await bring(name, true);
    const isAny = this.table.all().some(({ state }) => state === 'ready');
    if (!isAny && problems.length > 0) throw problems[0];
  }

  /** What runs already: models that workers were started with. */
  adopt(entries: readonly ModelEntry[]): void {
    for (const { name, version, index, model } of entries) {
      if (model === null) continue;
      const ticket = this.tickets.issue(model, index);
      this.table.put({
        name,
        version,
        state: 'ready',
        reason: '',
        ticket,
        model,
        digest: model.digest ?? '',
      });
    }
  }

  /** Says what is to be loaded, before it is. */
  announce(versions: readonly OfferedVersion[]): void {
    for (const { name, version } of versions) {
      if (this.table.get(name, version) !== null) continue;
      this.table.put({ ...NOT_SERVED, name, version, state: 'loading', reason: 'waiting' });
    }
    this.changed();
  }

  /** Its folder is gone. */
  forget(name: string): Promise<void> {
    return this.inTurn(name, async () => {
      this.said.forget(name);
      this.dropOthers(name, new Set());
    });
  }

  /** Gives the memory of a model back until it is asked for again. */
  sleep(row: Deployed): Promise<void> {
    return this.inTurn(row.name, async () => {
      const { ticket, name, version } = row;
      if (this.tickets.indexOf(ticket) < 0 || this.table.get(name, version)?.ticket !== ticket) return;
      await this.retire(ticket, () => this.tickets.sleep(ticket), 0);
      this.events.info({ model: name, version }, 'unloaded for want of requests; the next one loads it');
    });
  }

  /** A model that sleeps was asked for. */
  wake(ticket: number): void {
    const row = this.table.all().find((each) => each.ticket === ticket);
    if (row === undefined) {
      this.tickets.drop(ticket, 'the model is gone');
      return;
    }
    void this.inTurn(row.name, () => this.idle.wake(row));
  }

  close(): void {
    this.isClosed = true;
  }

  /** Makes what is served of a model what the workers have of it. Resolves with what cannot be. */
  private async bring(name: string, mayMeasure: boolean): Promise<EscapementError[]> {
    const list = await this.host.list(name).catch(coded);
    if (list instanceof EscapementError) return [list];
    const { versions, problems, notes } = list;
    if (versions.length === 0 && problems.length === 0) {
      throw this.table.versions(name).length === 0 ? unknown(name, this.host.away) : gone(name);
    }
    const errors: EscapementError[] = [];
    for (const { version, error } of problems) {
      errors.push(error);
      this.failed({ name, version: version ?? '1' }, error);
    }
    for (const note of notes) if (this.said.isNew(name, '', note)) this.events.warn({ model: name }, note);
    for (const found of versions) {
      if (this.isClosed) return errors;
      await this.bringVersion(found, mayMeasure).catch((reason) => {
        const error = coded(reason);
        errors.push(error);
        this.failed(found, error);
      });
    }
    // What cannot be replaced yet goes on being served: the files may still be on their way.
    if (versions.length > 0 && errors.length === 0)
      this.dropOthers(name, new Set([...versions, ...problems].map((each) => each.version)));
    return errors;
  }

  private async bringVersion(
    { name, version, digest, isMeasured }: OfferedVersion,
    mayMeasure: boolean,
  ): Promise<void> {
    const before = this.table.get(name, version);
    const isServed = before?.state === 'ready';
    if (isServed && before.digest === digest) return;
    const isLater = !isMeasured && !mayMeasure;
    if (!isServed) {
      const reason = isLater ? 'waiting to be measured' : isMeasured ? 'being prepared' : MEASURING;
      this.put({ ...NOT_SERVED, name, version, state: 'loading', reason });
    }
    if (isLater) return;
    const { index, model } = await this.host.addModel({ name, version, digest });
    const ticket = this.tickets.issue(model, index);
    this.put({ name, version, state: 'ready', reason: '', ticket, model, digest: model.digest ?? '' });
    this.said.forget(name, version);
    this.events.info({ model: name, version }, 'model is ready');
    if (before !== null && before.ticket >= 0) {
      this.retireLater(before.ticket, () => this.tickets.replace(before.ticket, ticket));
    }
  }

  /** Versions that the repository does not have any more, or that its settings exclude. */
  private dropOthers(name: string, present: ReadonlySet<string | null>): void {
    for (const { version, ticket } of this.table.versions(name)) {
      if (present.has(version)) continue;
      this.table.remove(name, version);
      this.changed();
      if (ticket < 0) continue;
      const why = `version ${version} of model ${JSON.stringify(name)} is not served any more`;
      this.retireLater(ticket, () => this.tickets.drop(ticket, why));
      this.events.info({ model: name, version }, why);
    }
  }

  /** A model that was named and is not there. */
  private missing(name: string, { message }: Error): EscapementError[] {
    const error = new EscapementError('E_MODEL_FILE', message);
    this.failed({ name, version: '1' }, error);
    return [error];
  }

  private failed({ name, version }: Pick<Deployed, 'name' | 'version'>, error: Error): void {
    if (this.isClosed) return;
    if (this.said.isNew(name, version, error.message))
      this.events.warn({ model: name, version, error: error.message }, 'model cannot be loaded');
    const before = this.table.get(name, version);
    if (before?.state === 'ready' && this.tickets.indexOf(before.ticket) >= 0) return;
    const reason = `not available: ${this.reasonOf(error)}`;
    this.put({ ...NOT_SERVED, name, version, state: 'unavailable', reason });
  }

  private reasonOf(error: Error): string {
    return clientReason(error, this.options.dir);
  }

  private retireLater(ticket: number, leave: () => void): void {
    const retired: Promise<void> = this.retire(ticket, leave)
      .catch(({ message }: Error) => this.events.warn({ error: message }, 'a model cannot be retired'))
      .finally(() => this.retiring.delete(retired));
    this.retiring.add(retired);
  }

  /** `leave` says where requests of the ticket go from now on, when frontends have had time to learn it. */
  private async retire(ticket: number, leave: () => void, lingerMs = LINGER_MS): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, lingerMs));
    const index = this.tickets.indexOf(ticket);
    leave();
    if (index >= 0) await this.host.retireModel(index);
  }

  private put(row: Deployed): void {
    this.table.put(row);
    this.changed();
  }

  private inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.turns.get(name) ?? Promise.resolve();
    const result = before.then(work);
    const done = result.then(
      () => {},
      () => {},
    );
    this.turns.set(name, done);
    void done.then(() => {
      if (this.turns.get(name) === done) this.turns.delete(name);
    });
    return result;
  }
}

/** Why a model is not there yet that has no profile. */
export const MEASURING = 'being measured';
/** Why a model is not there that a client has unloaded; the reason may go on. */
export const UNLOADED = 'unloaded';
const NOT_SERVED = { ticket: -1, model: null, digest: null } as const;

/** What could not be served stays known. */
function whyUnloaded({ state, ticket, reason }: Deployed): string {
  if (state !== 'unavailable' || ticket >= 0) return UNLOADED;
  return reason.startsWith(UNLOADED) ? reason : `${UNLOADED}; it was ${reason}`;
}
