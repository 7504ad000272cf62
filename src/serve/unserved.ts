import type { ModelList } from '../live/model-list.js';
import type { Deployed, ModelTable } from './model-table.js';

/** Of a version that nothing serves. */
export const NOT_SERVED = { ticket: -1, model: null, digest: null } as const;
/** Why a model is not there yet that has no profile. */
export const MEASURING = 'being measured';
/** Why a version is not there that was never loaded, or that a client has unloaded; the reason may go on. */
const UNLOADED = 'unloaded';
const WRONG = `${UNLOADED}; its files cannot be loaded: `;

/** It is not meant to be served now. */
export function isUnloaded({ state, reason }: Pick<Deployed, 'state' | 'reason'>): boolean {
  return state === 'unavailable' && reason.startsWith(UNLOADED);
}

/** What to say of a version that a client unloads: what could not be served stays known. */
export function whyUnloaded(row: Deployed): string {
  const { state, ticket, reason } = row;
  if (state !== 'unavailable' || ticket >= 0) return UNLOADED;
  return isUnloaded(row) ? reason : `${UNLOADED}; it was ${reason}`;
}

/**
 * Lists what lies on disk and is not loaded, and no longer what is neither. `rows`: those that the list is about, where
 * what it lacks is nowhere. `reasonOf` says what is wrong to clients.
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

/** Those that a problem of the whole model concerns. */
export function versionsOf(table: ModelTable, name: string): readonly string[] {
  const versions = table.versions(name).map(({ version }) => version);
  return versions.length === 0 ? [NO_VERSION] : versions;
}

/** Under it a model is listed of which no version is known. */
const NO_VERSION = '1';

/** It neither is served nor will be by itself. */
function isAway({ state, ticket }: Deployed): boolean {
  return state === 'unavailable' && ticket < 0;
}
