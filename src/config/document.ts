import { type Document, isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import { type ErrorCode, type ErrorPlace, EscapementError } from '../base/errors.js';
import { readYaml } from '../base/files/yaml-text.js';
import { suggestion } from '../base/nearest.js';

/** Keys and list indexes from the root. */
export type Path = readonly (string | number)[];

/** A YAML (or JSON) file as plain values that still knows its lines. */
export interface SourceDocument {
  readonly file: string;
  readonly text: string;
  /** The root section. */
  readonly tree: Readonly<Record<string, unknown>>;
  /** The file, and the line of the key or list item at `path`, or of the nearest section around it. */
  placeOf(path: Path): ErrorPlace & { readonly file: string };
}

/** Parses `text`. Throws `syntaxCode` with the line of a syntax error, or if the root is not a section. */
export function readDocument(text: string, file: string, syntaxCode: ErrorCode): SourceDocument {
  const at = (line?: number) => ({ file, ...(line === undefined ? {} : { line }) });
  const fail = (what: string, line?: number) => new EscapementError(syntaxCode, what, at(line));
  const { document, lines, value } = readYaml(text, fail);
  if (document.contents === null) throw fail('the file is empty');
  if (!isSection(value)) throw fail('must be a section of "key: value" lines', 1);
  return {
    ...{ file, text, tree: value },
    placeOf: (path) => {
      const offset = offsetOf(document, path);
      return at(offset === undefined ? undefined : lines.linePos(offset).line);
    },
  };
}

/** The path as people write it: index 0 is omitted if a single section stands for a list of one. */
export function shortPath(tree: unknown, path: Path): Path {
  const short: (string | number)[] = [];
  let node = tree;
  for (const part of path) {
    if (String(part) === '0' && isSection(node) && !Object.hasOwn(node, '0')) continue;
    short.push(part);
    node = childOf(node, part);
  }
  return short;
}

/** Value at `path`, or undefined. */
export function valueAt(tree: unknown, path: Path): unknown {
  return shortPath(tree, path).reduce(childOf, tree);
}

// No name in an experiment starts with an underscore, and `__proto__` must not pass.
export const DOTTED_KEY = '[A-Za-z0-9][\\w-]*(?:\\.[A-Za-z0-9][\\w-]*)*';
const WHOLE_KEY = new RegExp(`^${DOTTED_KEY}$`);

/** True if the text could be the key of an override. */
export function isOverrideKey(text: string): boolean {
  return WHOLE_KEY.test(text);
}

export function isSection(node: unknown): node is Record<string, unknown> {
  return typeof node === 'object' && node !== null && !Array.isArray(node);
}

function childOf(node: unknown, part: string | number): unknown {
  if (typeof node !== 'object' || node === null || !Object.hasOwn(node, part)) return undefined;
  return (node as Record<string | number, unknown>)[part];
}

/** Offset of the key or list item at a path, or of the nearest section around it. */
function offsetOf(document: Document, path: Path): number | undefined {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const part of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
      if (pair === undefined && part === 0) continue;
      if (pair === undefined) return offset;
      offset = (pair.key as Node).range?.[0];
      node = pair.value;
    } else {
      const item = isSeq(node) ? (node.items[Number(part)] as Node | undefined) : undefined;
      if (item === undefined) return offset;
      offset = item.range?.[0];
      node = item;
    }
  }
  return offset;
}

/**
 * `cluster.gpus.t4` counts GPUs of that kind; in a list, it is e.g. `cluster.gpus.1.count`. Other paths are unchanged.
 */
export function gpuPath(tree: unknown, path: Path): Path {
  const named = kindIn(tree, path);
  if (named === null || named.index < 0) return path;
  const rest = path.slice(3);
  return ['cluster', 'gpus', named.index, ...(rest.length === 0 ? ['count'] : rest)];
}

/** Error text for a path to GPUs of a kind that the list does not have; null if valid. */
export function unknownKind(tree: unknown, path: Path): string | null {
  const named = kindIn(tree, path);
  if (named === null || named.index >= 0) return null;
  return `no GPUs are of the kind "${named.name}": ${suggestion(named.name, named.kinds)}`;
}

/** Kind named by a path, and its index in the list; null if the path names none. */
function kindIn(
  tree: unknown,
  [section, key, name]: Path,
): { readonly name: string; readonly kinds: readonly string[]; readonly index: number } | null {
  if (section !== 'cluster' || key !== 'gpus' || name === undefined || /^\d+$/.test(String(name)))
    return null;
  const gpus = valueAt(tree, ['cluster', 'gpus']);
  if (!Array.isArray(gpus)) return null;
  const kinds = gpus.map((entry) => (isSection(entry) ? entry.kind : ''));
  // A name such as 1e3 is a number to YAML.
  const index = kinds.findIndex((kind) => String(kind) === String(name) || kind === Number(name));
  return { name: String(name), kinds: kinds.map(String), index };
}
