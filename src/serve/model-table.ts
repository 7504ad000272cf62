import type { ServedModel } from '../live/model.js';
import type { ModelList } from '../live/model-list.js';
import type { ModelLabels } from '../live/observe/telemetry/labels.js';
import type { ModelEntry } from '../live/service.js';

/** Deployment state of one version of a model. */
export interface Deployed {
  readonly name: string;
  readonly version: string;
  readonly state: ModelEntry['state'];
  /** As in `ModelEntry`. */
  readonly reason: string;
  /** Handle under which it is served; −1: none. */
  readonly handle: number;
  readonly model: ServedModel | null;
  /** Digest of its files; null unless it is served. */
  readonly digest: string | null;
  /** Pause after its last failure to load again, ms; absent: it has loaded since. */
  readonly pauseMs?: number;
}

/** Fields of a version that is not served. */
export const NOT_SERVED = { handle: -1, model: null, digest: null } as const;
/** Reason why a model without a profile is not ready yet. */
export const MEASURING = 'being measured';
/** Reason of a version that was never loaded, or that a client unloaded; more may follow. */
const UNLOADED = 'unloaded';
const WRONG = `${UNLOADED}; its files cannot be loaded: `;
/** Version under which a model is listed if none is known. */
const NO_VERSION = '1';

/** True if it is deliberately not served. */
export function isUnloaded({ state, reason }: Pick<Deployed, 'state' | 'reason'>): boolean {
  return state === 'unavailable' && reason.startsWith(UNLOADED);
}

/** Reason for a version that a client unloads: an earlier failure stays known. */
export function whyUnloaded(row: Deployed): string {
  const { state, handle, reason } = row;
  if (state !== 'unavailable' || handle >= 0) return UNLOADED;
  return isUnloaded(row) ? reason : `${UNLOADED}; it was ${reason}`;
}

/** All versions of all models, ordered by name and version. */
export class ModelTable {
  private readonly rows = new Map<string, Map<string, Deployed>>();
  private isBatch = false;
  private isChanged = false;

  constructor(private readonly changed: () => void) {}

  /** Ascending. */
  versions(name: string): readonly Deployed[] {
    return [...(this.rows.get(name)?.values() ?? [])].sort((a, b) => Number(a.version) - Number(b.version));
  }

  get(name: string, version: string): Deployed | null {
    return this.rows.get(name)?.get(version) ?? null;
  }

  get names(): readonly string[] {
    return [...this.rows.keys()].sort();
  }

  all(): readonly Deployed[] {
    return this.names.flatMap((name) => this.versions(name));
  }

  put(row: Deployed): void {
    const versions = this.rows.get(row.name) ?? new Map<string, Deployed>();
    const before = versions.get(row.version);
    const fields = ['state', 'reason', 'handle', 'model', 'digest', 'pauseMs'] as const;
    if (before !== undefined && fields.every((field) => before[field] === row[field])) return;
    this.rows.set(row.name, versions);
    versions.set(row.version, row);
    this.tell();
  }

  remove(name: string, version: string): void {
    const versions = this.rows.get(name);
    if (versions?.delete(version) !== true) return;
    if (versions.size === 0) this.rows.delete(name);
    this.tell();
  }

  /** Groups the changes made by `work` into one. */
  batch(work: () => void): void {
    this.isBatch = true;
    this.isChanged = false;
    work();
    this.isBatch = false;
    if (this.isChanged) this.changed();
  }

  /** Versions affected by a problem of the whole model. */
  affected(name: string): readonly string[] {
    const versions = this.versions(name).map(({ version }) => version);
    return versions.length === 0 ? [NO_VERSION] : versions;
  }

  /**
   * Adds entries for models on disk that are not loaded, and removes those of models gone from both. `rows`: the versions
   * that the list covers, so that those it lacks do not exist. `reasonOf`: text of a problem for clients.
   */
  list(
    { versions, problems }: ModelList,
    rows: readonly Deployed[],
    reasonOf: (error: Error) => string,
  ): void {
    const found = new Map<string, Map<string, string>>();
    const add = (name: string, version: string, reason: string) => {
      const reasons = found.get(name) ?? new Map<string, string>();
      found.set(name, reasons.set(version, reason));
    };
    for (const { name, version } of versions) add(name, version, UNLOADED);
    for (const { name, version, error } of problems)
      for (const one of version === null ? this.affected(name) : [version])
        add(name, one, WRONG + reasonOf(error));
    this.batch(() => {
      for (const { name, version, state, handle } of rows) {
        const isAway = state === 'unavailable' && handle < 0;
        if (isAway && found.get(name)?.has(version) !== true) this.remove(name, version);
      }
      for (const [name, reasons] of found) {
        for (const [version, reason] of reasons) {
          const before = this.get(name, version);
          const isNews = before === null || before.reason === UNLOADED || before.reason.startsWith(WRONG);
          if (isNews) this.put({ ...NOT_SERVED, ...before, name, version, state: 'unavailable', reason });
        }
      }
    });
  }

  /** Entries for frontends. The default version is the highest that is ready, or else the highest. */
  entries(
    labels: Pick<ModelLabels, 'numberOf'>,
    blockedOf: (handle: number) => Pick<ModelEntry, 'blocked'>,
  ): readonly ModelEntry[] {
    return this.names.flatMap((name) => {
      const versions = this.versions(name);
      const chosen = versions.findLast(({ state }) => state === 'ready') ?? versions.at(-1);
      const label = labels.numberOf(name);
      return versions.map((row) => {
        const { version, state, reason, handle, model } = row;
        const index = state === 'ready' ? handle : -1;
        const isDefault = row === chosen;
        return { name, label, version, isDefault, state, reason, ...blockedOf(index), index, model };
      });
    });
  }

  private tell(): void {
    this.isChanged = true;
    if (!this.isBatch) this.changed();
  }
}
