import type * as z from 'zod';
import { type ErrorCode, type ErrorPlace, EscapementError } from '../base/errors.js';
import { readYaml } from '../base/files/yaml-text.js';
import type { Plugin } from '../policies/entry.js';
import {
  DOTTED_KEY,
  gpuPath,
  isSection,
  type Path,
  type SourceDocument,
  shortPath,
  unknownKind,
  valueAt,
} from './document.js';
import type { EnvironmentOverride } from './runtime-settings.js';
import { experimentSchemaWith } from './schema.js';
import { kindsAt, ownKeys } from './schema-fields.js';

/** An experiment file with its overrides applied, not validated yet. */
export interface OverriddenTree {
  readonly tree: Readonly<Record<string, unknown>>;
  /** Source of a mistake at `path`: the override that set it, or file, line and dotted key. */
  placeOf(path: Path): ErrorPlace;
  /** Source of the value at `path`; null: it is a default. */
  originOf(path: Path): Origin | null;
}

/** Source of a key: a flag, an environment variable, or a line of the file. */
export type Origin =
  | { readonly kind: 'flag'; readonly override: string }
  | { readonly kind: 'environment'; readonly variable: string }
  | { readonly kind: 'file'; readonly file: string; readonly line?: number };

const PLUGINS = 'plugins';

/** True if an override of this key chooses the kind of a section, and so the other keys allowed. */
export function isKindKey(key: string): boolean {
  return /\.kind$/.test(key);
}

/**
 * Applies overrides of the form `a.b=value`, in order, those of the environment before them; values are read as YAML.
 * Items of lists are named by index (`workload.0.rate=600/s`). An override that chooses the kind of a section drops the
 * keys set so far that only other kinds have, so that kinds can be compared on one file. One that excludes another key,
 * as `load` does `rate`, replaces that key of the file. Throws `E_USAGE` for one without `=`, `E_CONFIG_KEY` if the
 * path leads through a plain value or past the end of a list.
 */
export function applyOverrides(
  source: SourceDocument,
  overrides: readonly string[],
  environment: readonly EnvironmentOverride[] = [],
  plugins: readonly Plugin[] = [],
): OverriddenTree {
  const tree = structuredClone(source.tree);
  const schema = experimentSchemaWith(plugins);
  const applied: Applied[] = [];
  for (const override of [...environment.map(ofVariable), ...overrides.map(ofFlag)]) {
    const { key, flag } = override;
    const path = pathOf(tree, shortPath(tree, key.split('.')), flag);
    const given = parsedValue(override);
    // Plugins are added to those of the file.
    const value = key === PLUGINS ? [tree.plugins ?? [], given].flat() : given;
    setAt(tree, path, value, flag);
    if (isKindKey(key)) dropForeign(schema, tree, path.slice(0, -1));
    applied.push({ ...override, path });
  }
  const setBy = (path: Path) => applied.findLast((override) => startsWith(path, override.path));
  // Comes last: overrides that exclude each other stay.
  for (const { path } of applied) dropRivals(tree, path, (rival) => setBy(rival) !== undefined);
  return {
    tree,
    placeOf(path) {
      const short = shortPath(tree, path);
      const onlySet = short.length > 0 && valueAt(source.tree, short) === undefined;
      const culprit = setBy(short) ?? applied.findLast((one) => onlySet && startsWith(one.path, short));
      const key = short.length <= (culprit?.path.length ?? 0) ? '' : short.join('.');
      const place = culprit === undefined ? source.placeOf(path) : { flag: culprit.flag };
      return key === '' ? place : { ...place, key };
    },
    originOf(path) {
      const short = shortPath(tree, path);
      if (valueAt(tree, short) === undefined) return null;
      return setBy(short)?.origin ?? { kind: 'file', ...source.placeOf(path) };
    },
  };
}

/** Values that overrides give a key, in order. Throws as `applyOverrides`. */
export function overriddenValues(overrides: readonly string[], key: string): unknown[] {
  return overrides.map(ofFlag).flatMap((override) => (override.key === key ? [parsedValue(override)] : []));
}

/** One override, from any source. */
interface Override {
  readonly key: string;
  /** As written. */
  readonly text: string;
  readonly origin: Origin;
  /** Its name in messages. */
  readonly flag: string;
}

type Applied = Override & { readonly path: Path };

function ofVariable({ variable, key, value }: EnvironmentOverride): Override {
  return { key, text: value, origin: { kind: 'environment', variable }, flag: variable };
}

function ofFlag(override: string): Override {
  const flag = `--set ${override}`;
  const [, key, text] = OVERRIDE.exec(override.trim()) ?? [];
  if (key === undefined || text === undefined)
    throw problem('E_USAGE', flag, 'write key=value, e.g. --set policy.maxBatch=4');
  return { key, text, origin: { kind: 'flag', override }, flag };
}

function parsedValue({ text, flag }: Override): unknown {
  const fail = (what: string) => problem('E_CONFIG_SYNTAX', flag, `the value is not valid YAML: ${what}`);
  return readYaml(text, fail).value;
}

/** Path of an override, `cluster.gpus.t4` included. */
function pathOf(tree: Record<string, unknown>, path: Path, flag: string): Path {
  const wrong = unknownKind(tree, path);
  if (wrong !== null) throw problem('E_CONFIG_KEY', flag, wrong);
  return gpuPath(tree, path);
}

const OVERRIDE = new RegExp(`^(${DOTTED_KEY})\\s*=(.*)$`, 's');

function setAt(tree: Record<string, unknown>, path: Path, value: unknown, flag: string): void {
  let node: Record<string | number, unknown> = tree;
  path.forEach((part, depth) => {
    const name = path.slice(0, depth).join('.');
    if (Array.isArray(node)) {
      if (!/^\d+$/.test(String(part)))
        throw problem('E_CONFIG_KEY', flag, `${name} is a list: write ${name}.0.${part}`);
      if (Number(part) >= node.length)
        throw problem('E_CONFIG_KEY', flag, `${name} ends at index ${node.length - 1}`);
    } else if (!isSection(node))
      throw problem('E_CONFIG_KEY', flag, `${name} is a plain value and has no keys`);
    if (depth === path.length - 1) {
      node[part] = value;
      return;
    }
    if (!Object.hasOwn(node, part) || node[part] === null) node[part] = {};
    node = node[part] as Record<string | number, unknown>;
  });
}

/**
 * Drops keys that only other kinds have. Unknown keys stay, and are rejected later; so does all next to an unknown
 * kind.
 */
function dropForeign(schema: z.ZodType, tree: unknown, path: Path): void {
  const section = valueAt(tree, path);
  const own = ownKeys(schema, tree, path);
  if (own.size === 0 || !isSection(section)) return;
  for (const keys of kindsAt(schema, tree, path).all.values())
    for (const key of keys) if (!own.has(key)) delete section[key];
}

/** Keys of a section that exclude each other. In azure-like, load stands for scale, and not for rate. */
const RIVALS = [
  ['pages', 'memory'],
  ['rate', 'load'],
  ['scale', 'load'],
] as const;

/** Drops excluded keys of the file. Overrides that exclude each other stay, since nothing decides between them. */
function dropRivals(tree: unknown, path: Path, isOverridden: (path: Path) => boolean): void {
  const within = path.slice(0, -1);
  const section = valueAt(tree, within);
  if (!isSection(section)) return;
  for (const pair of RIVALS) {
    const at = (pair as Path).indexOf(String(path.at(-1)));
    const rival = pair[1 - at];
    const isOther = section.kind === 'azure-like' && pair[0] === 'rate';
    if (at >= 0 && rival !== undefined && !isOther && !isOverridden([...within, rival]))
      delete section[rival];
  }
}

function startsWith(path: Path, prefix: Path): boolean {
  return prefix.length <= path.length && prefix.every((part, i) => String(part) === String(path[i]));
}

function problem(code: ErrorCode, flag: string, what: string): EscapementError {
  return new EscapementError(code, what, { flag });
}
