import type { ModelList } from '../live/model-list.js';
import type { Deployed, ModelTable } from './model-table.js';

/** Fields of a version that is not served. */
export const NOT_SERVED = { handle: -1, model: null, digest: null } as const;
/** Reason why a model without a profile is not ready yet. */
export const MEASURING = 'being measured';
/** Reason of a version that was never loaded, or that a client unloaded; more may follow. */
const UNLOADED = 'unloaded';
const WRONG = `${UNLOADED}; its files cannot be loaded: `;

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

/**
 * Adds entries for models on disk that are not loaded, and removes those of models gone from both. `rows`: the versions
 * that the list covers, so that those it lacks do not exist. `reasonOf`: text of a problem for clients.
 */
export function listUnserved(
  table: ModelTable,
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
    for (const one of version === null ? versionsOf(table, name) : [version])
      add(name, one, WRONG + reasonOf(error));
  for (const row of rows)
    if (isAway(row) && found.get(row.name)?.has(row.version) !== true) table.remove(row.name, row.version);
  for (const [name, reasons] of found) {
    for (const [version, reason] of reasons) {
      const before = table.get(name, version);
      const isNews = before === null || before.reason === UNLOADED || before.reason.startsWith(WRONG);
      if (isNews) table.put({ ...NOT_SERVED, ...before, name, version, state: 'unavailable', reason });
    }
  }
}

/** Versions affected by a problem of the whole model. */
export function versionsOf(table: ModelTable, name: string): readonly string[] {
  const versions = table.versions(name).map(({ version }) => version);
  return versions.length === 0 ? [NO_VERSION] : versions;
}

/** Version under which a model is listed if none is known. */
const NO_VERSION = '1';

/** True if it is not served, and will not be by itself. */
function isAway({ state, handle }: Deployed): boolean {
  return state === 'unavailable' && handle < 0;
}
