import type { ModelList, OfferedVersion } from '../live/model-list.js';
import type { ModelTable } from './model-table.js';

/**
 * Names of the models of which `list` has the very versions that are served. A start need not ask the workers about each of
 * these once more, which would take long with thousands. A note does not say which model it is about: with any, there are none.
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
