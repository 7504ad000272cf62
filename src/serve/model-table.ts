import type { ServedModel } from '../live/model.js';
import type { NameLabels } from '../live/observe/telemetry/labels.js';
import type { ModelEntry } from '../live/service.js';

/** Deployment state of one version of a model. */
export interface Deployed {
  readonly name: string;
  readonly version: string;
  readonly state: ModelEntry['state'];
  /** As in `ModelEntry`. */
  readonly reason: string;
  /** ModelHandle under which it is served; −1: none. */
  readonly handle: number;
  readonly model: ServedModel | null;
  /** Digest of its files; null unless it is served. */
  readonly digest: string | null;
}

/** All versions of all models, ordered by name and version. */
export class ModelTable {
  private readonly rows = new Map<string, Map<string, Deployed>>();
  private isBatch = false;
  private isChanged = false;

  constructor(private readonly changed: () => void) {}

  versions(name: string): readonly Deployed[] {
    return [...(this.rows.get(name)?.values() ?? [])];
  }

  get(name: string, version: string): Deployed | null {
    return this.rows.get(name)?.get(version) ?? null;
  }

  all(): readonly Deployed[] {
    return [...this.rows.keys()].sort().flatMap((name) => sorted(this.versions(name)));
  }

  put(row: Deployed): void {
    const versions = this.rows.get(row.name) ?? new Map<string, Deployed>();
    const before = versions.get(row.version);
    if (before !== undefined && isSame(before, row)) return;
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

  /** Entries for frontends. The default version is the highest that is ready, or else the highest. */
  entries(labels: Pick<NameLabels, 'numberOf'>): readonly ModelEntry[] {
    const names = [...this.rows.keys()].sort();
    return names.flatMap((name) => {
      const versions = sorted(this.versions(name));
      const chosen = versions.findLast(({ state }) => state === 'ready') ?? versions.at(-1);
      const label = labels.numberOf(name);
      return versions.map((row) => ({
        name,
        label,
        version: row.version,
        isDefault: row === chosen,
        state: row.state,
        reason: row.reason,
        index: row.state === 'ready' ? row.handle : -1,
        model: row.model,
      }));
    });
  }

  private tell(): void {
    this.isChanged = true;
    if (!this.isBatch) this.changed();
  }
}

function isSame(a: Deployed, b: Deployed): boolean {
  return (
    a.state === b.state &&
    a.reason === b.reason &&
    a.handle === b.handle &&
    a.model === b.model &&
    a.digest === b.digest
  );
}

function sorted(versions: readonly Deployed[]): readonly Deployed[] {
  return [...versions].sort((a, b) => Number(a.version) - Number(b.version));
}
