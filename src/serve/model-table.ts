import type { ServedModel } from '../live/model.js';
import type { ModelList } from '../live/model-list.js';
import type { ModelLabels } from '../live/observe/telemetry/labels.js';
import type { ModelEntry } from '../live/service.js';

/**
 * Statuses of a version on its way into service and out of it, each with its state in the repository index, the reason
 * there, and what precedes a problem.
 */
const STATUSES = {
  /** Never loaded, or unloaded by a client. */
  unloaded: ['unavailable', 'unloaded', 'unloaded; its files cannot be loaded: '],
  /** Unloaded by a client after it had failed. */
  withdrawn: ['unavailable', 'unloaded', 'unloaded; it was not available: '],
  waiting: ['loading', 'waiting to be prepared', ''],
  preparing: ['loading', 'being prepared', ''],
  unmeasured: ['loading', 'waiting to be measured', ''],
  measuring: ['loading', 'being measured', ''],
  /** With a problem, its replacement is rejected. */
  ready: ['ready', '', 'serves the model loaded before; its replacement is rejected: '],
  unloading: ['unloading', 'being unloaded', ''],
  failed: ['unavailable', 'not available', 'not available: '],
} as const satisfies Record<string, readonly [ModelEntry['state'], reason: string, before: string]>;

/** Deployment of one version of a model. */
export interface Deployed {
  readonly name: string;
  readonly version: string;
  readonly status: keyof typeof STATUSES;
  /** Why it, or its replacement, cannot be loaded, for clients; '' if it can. */
  readonly problem: string;
  /** Handle under which it is served; −1: none. */
  readonly handle: number;
  readonly model: ServedModel | null;
  /** Digest of its files; null unless it is served. */
  readonly digest: string | null;
  /** Pause after its last failure to load again, ms; absent: it has loaded since. */
  readonly pauseMs?: number;
}

/** Fields of a version that is not served. */
export const NOT_SERVED = { problem: '', handle: -1, model: null, digest: null } as const;
/** Version under which a model is listed if none is known. */
const NO_VERSION = '1';

/** True if it is deliberately not served. */
export function isUnloaded({ status }: Pick<Deployed, 'status'>): boolean {
  return status === 'unloaded' || status === 'withdrawn';
}

/** State and reason in the repository index. */
export function shownState({ status, problem }: Deployed): Pick<ModelEntry, 'state' | 'reason'> {
  const [state, reason, before] = STATUSES[status];
  return { state, reason: problem === '' ? reason : before + problem };
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
    const fields = ['status', 'problem', 'handle', 'model', 'digest', 'pauseMs'] as const;
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
    const add = (name: string, version: string, problem: string) => {
      const ofName = found.get(name) ?? new Map<string, string>();
      found.set(name, ofName.set(version, problem));
    };
    for (const { name, version } of versions) add(name, version, '');
    for (const { name, version, error } of problems)
      for (const one of version === null ? this.affected(name) : [version]) add(name, one, reasonOf(error));
    this.batch(() => {
      for (const row of rows) {
        const { name, version, status, handle } = row;
        const isAway = isUnloaded(row) || (status === 'failed' && handle < 0);
        if (isAway && found.get(name)?.has(version) !== true) this.remove(name, version);
      }
      for (const [name, ofName] of found) {
        for (const [version, problem] of ofName) {
          const { status, ...before } = this.get(name, version) ?? { ...NOT_SERVED, status: 'unloaded' };
          if (status === 'unloaded') this.put({ ...before, name, version, status, problem });
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
      const chosen = versions.findLast(({ status }) => status === 'ready') ?? versions.at(-1);
      const label = labels.numberOf(name);
      return versions.map((row) => {
        const { version, status, handle, model } = row;
        const index = status === 'ready' ? handle : -1;
        return {
          ...{ name, label, version, isDefault: row === chosen, ...shownState(row) },
          ...(isUnloaded(row) && { isUnloaded: true }),
          ...{ ...blockedOf(index), index, model },
        };
      });
    });
  }

  private tell(): void {
    this.isChanged = true;
    if (!this.isBatch) this.changed();
  }
}
