import { suggestion } from '../base/nearest.js';
import { isSection, type Path, valueAt } from './document.js';

/** `cluster.gpus.t4` is the number of GPUs of that kind, where they are a list: `cluster.gpus.1.count`; other paths as they are. */
export function gpuPath(tree: unknown, path: Path): Path {
  const named = kindIn(tree, path);
  if (named === null || named.index < 0) return path;
  const rest = path.slice(3);
  return ['cluster', 'gpus', named.index, ...(rest.length === 0 ? ['count'] : rest)];
}

/** What is wrong with a path to GPUs of a kind that a list does not have; null: nothing. */
export function unknownKind(tree: unknown, path: Path): string | null {
  const named = kindIn(tree, path);
  if (named === null || named.index >= 0) return null;
  return `no GPUs are of the kind "${named.name}": ${suggestion(named.name, named.kinds)}`;
}

/** The kind that a path names, and where in the list it is; null where it names none. */
function kindIn(
  tree: unknown,
  [section, key, name]: Path,
): { readonly name: string; readonly kinds: readonly string[]; readonly index: number } | null {
  if (section !== 'cluster' || key !== 'gpus' || name === undefined || /^\d+$/.test(String(name)))
    return null;
  const gpus = valueAt(tree, ['cluster', 'gpus']);
  if (!Array.isArray(gpus)) return null;
  const kinds = gpus.map((entry) => (isSection(entry) ? String(entry.kind) : ''));
  return { name: String(name), kinds, index: kinds.indexOf(String(name)) };
}
