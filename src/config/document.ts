import { type Document, isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import { type ErrorCode, EscapementError } from '../base/errors.js';
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
  /** 1-based line of the key or list item at `path`, or of the nearest section around it. */
  lineOf(path: Path): number | undefined;
  /** The value at `path` as it is written, if it is a number, a boolean or null. */
  writtenAt(path: Path): string | undefined;
}

/** Parses `text`. Throws `syntaxCode` with the line of a syntax error, or where the root is not a section. */
export function readDocument(text: string, file: string, syntaxCode: ErrorCode): SourceDocument {
  const fail = (what: string, line?: number) =>
    new EscapementError(syntaxCode, what, { file, ...(line === undefined ? {} : { line }) });
  const { document, lines, value } = readYaml(text, fail);
  if (document.contents === null) throw fail('the file is empty');
  if (!isSection(value)) throw fail('must be a section of "key: value" lines', 1);
  return {
    ...{ file, text, tree: value },
    lineOf: (path) => {
      const { offset } = nodeAt(document, path);
      return offset === undefined ? undefined : lines.linePos(offset).line;
    },
    writtenAt: (path) => writtenAt(document, path),
  };
}

/**
 * The path as people write it: where a single section is written for a list of one, index 0 is omitted.
 */
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

/** The value at `path`, or undefined. */
export function valueAt(tree: unknown, path: Path): unknown {
  return shortPath(tree, path).reduce(childOf, tree);
}

export function isSection(node: unknown): node is Record<string, unknown> {
  return typeof node === 'object' && node !== null && !Array.isArray(node);
}

function childOf(node: unknown, part: string | number): unknown {
  if (typeof node !== 'object' || node === null || !Object.hasOwn(node, part)) return undefined;
  return (node as Record<string | number, unknown>)[part];
}

/** A number, a boolean or null of a document as it is written; undefined: something else, or nothing, is there. */
export function writtenAt(document: Document, path: Path): string | undefined {
  const { node, rest } = nodeAt(document, path);
  return rest === 0 && isScalar(node) && typeof node.value !== 'string' && node.source !== ''
    ? node.source
    : undefined;
}

interface FoundNode {
  /** The node at the path, or the nearest around it. */
  readonly node: unknown;
  /** Where its key or list item begins. */
  readonly offset: number | undefined;
  /** How many parts of the path there are below it. */
  readonly rest: number;
}

function nodeAt(document: Document, path: Path): FoundNode {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const [depth, part] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document);
    const rest = path.length - depth;
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
      if (pair === undefined) {
        if (part === 0) continue;
        return { node, offset, rest };
      }
      offset = (pair.key as Node).range?.[0];
      node = pair.value;
    } else if (isSeq(node)) {
      const item = node.items[Number(part)] as Node | undefined;
      if (item === undefined) return { node, offset, rest };
      offset = item.range?.[0];
      node = item;
    } else return { node, offset, rest };
  }
  return { node: isAlias(node) ? node.resolve(document) : node, offset, rest: 0 };
}

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
  const kinds = gpus.map((entry) => (isSection(entry) ? entry.kind : ''));
  // A name such as 1e3 is a number to YAML.
  const index = kinds.findIndex((kind) => String(kind) === String(name) || kind === Number(name));
  return { name: String(name), kinds: kinds.map(String), index };
}
