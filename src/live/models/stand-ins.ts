import type { FoundVersion, RepositoryScan } from './scan.js';

/** Result of reading the versions of models. */
interface ReadVersions<T> {
  /** By name, then by version, ascending. */
  readonly good: readonly {
    readonly found: FoundVersion;
    readonly value: T;
    /** True if the settings do not choose it: it replaces an unreadable higher version. */
    readonly standsIn: boolean;
  }[];
  readonly bad: readonly { readonly found: FoundVersion; readonly error: unknown }[];
}

/**
 * Reads versions by `read`. An unreadable one is replaced by the next lower readable one, if the settings ask for the
 * latest: a damaged file must not cost the model.
 */
export async function readVersions<T>(
  { versions, spares }: Pick<RepositoryScan, 'versions' | 'spares'>,
  read: (found: FoundVersion) => Promise<T>,
): Promise<ReadVersions<T>> {
  const good: { found: FoundVersion; value: T; standsIn: boolean }[] = [];
  const bad: { found: FoundVersion; error: unknown }[] = [];
  const left = [...spares];
  for (const chosen of versions) {
    let found: FoundVersion | undefined = chosen;
    while (found !== undefined) {
      try {
        good.push({ found, value: await read(found), standsIn: found !== chosen });
        break;
      } catch (error) {
        bad.push({ found, error });
        const next = left.findIndex(({ name }) => name === chosen.name);
        found = next < 0 ? undefined : left.splice(next, 1)[0];
      }
    }
  }
  return { good: good.sort((a, b) => byNameAndVersion(a.found, b.found)), bad };
}

function byNameAndVersion(a: FoundVersion, b: FoundVersion): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return Number(a.version) - Number(b.version);
}
