import { EscapementError } from '../base/errors.js';
import { suggestion } from '../base/nearest.js';
import type { Plugin } from '../policies/entry.js';
import type { VariedKey } from '../record/results.js';
import { isSection, type Path, type SourceDocument, unknownKind } from './document.js';
import { describeKeys, keyExists } from './keys.js';
import { applyOverrides, isOverrideKey, type OverriddenTree } from './overrides.js';
import { experimentSchemaWith } from './schema.js';
import { validate } from './validate.js';

/** The sweep described by a file. */
export interface SweepSection {
  /** Axes of named cases in the order of the file. */
  readonly cases: readonly CaseAxis[];
  /** Keys in the order of the file, each with its values as written. */
  readonly vary: readonly VariedKey[];
  /** Absent: the seed of the file. */
  readonly seeds?: readonly number[];
  /** True if each cell gets an upper bound on the goodput of any scheduler. */
  readonly bound: boolean;
}

/**
 * The `sweep:` section of an experiment file, or undefined if it has none. Throws errors of the file, and
 * `E_CONFIG_KEY` for a varied key that does not exist. Keys set by cases are checked with the cells.
 */
export function readSweepSection(
  source: SourceDocument,
  overrides: readonly string[] = [],
  plugins: readonly Plugin[] = [],
): SweepSection | undefined {
  const overridden = applyOverrides(source, overrides, [], plugins);
  const { tree, placeOf } = overridden;
  const { sweep } = validate(experimentSchemaWith(plugins), tree, overridden);
  if (sweep === undefined) return undefined;
  const { seeds, bound } = sweep;
  const cases = readCases(sweep.cases, overridden, plugins);
  const vary = Object.entries(sweep.vary).map(([key, values]) => ({ key, values }));
  const set = [...vary.map(({ key }) => key), ...cases.flatMap((axis) => axis.cases.flatMap(keysOf))];
  for (const { key } of vary) {
    // Where kinds differ between cells, a key of any kind will do: cells are checked one by one.
    const isMixed = set.some((other) => key.startsWith(`${other.replace(/\.kind$/, '')}.`));
    if (keyExists(tree, key, plugins) || (isMixed && known(plugins).includes(withoutIndexes(key)))) continue;
    const what = cases.some((axis) => axis.key === key)
      ? 'is an axis of cases, all of which run: leave it out of vary'
      : (unknownKind(tree, key.split('.')) ?? `unknown key "${key}": ${suggestion(key, known(plugins))}`);
    throw new EscapementError('E_CONFIG_KEY', what, placeOf(['sweep', 'vary', key]));
  }
  return { cases, vary, bound, ...(seeds === undefined ? {} : { seeds }) };
}

function known(plugins: readonly Plugin[]): string[] {
  return [...new Set(describeKeys(plugins).map(({ key }) => key))];
}

function withoutIndexes(key: string): string {
  return key.replaceAll(/\.\d+(?=\.|$)/g, '');
}

/** Keys that a case sets. */
function keysOf({ overrides }: Case): string[] {
  return overrides.map((text) => text.slice(0, text.indexOf('=')));
}

/** An axis of a sweep whose values are names, each for several overrides. */
export interface CaseAxis {
  readonly key: string;
  readonly cases: readonly Case[];
}

interface Case {
  readonly name: string;
  /** In the form of `--set`, with values in JSON. */
  readonly overrides: readonly string[];
}

/**
 * Axes of `sweep.cases` in the order of the file. Throws `E_CONFIG_VALUE` for one without cases, with a case without a
 * name, or named like a key, and `E_CONFIG_KEY` if a case sets an invalid key, or one that belongs to the sweep as a
 * whole.
 */
function readCases(
  section: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, unknown>>>>>>,
  { tree, placeOf, writtenAt }: OverriddenTree,
  plugins: readonly Plugin[] = [],
): CaseAxis[] {
  const fail = (code: 'E_CONFIG_KEY' | 'E_CONFIG_VALUE', what: string, path: Path) =>
    new EscapementError(code, what, placeOf(path));
  return Object.entries(section).map(([key, named]) => {
    const path = ['sweep', 'cases', key];
    const cases = Object.entries(named).map(([name, values]) => {
      if (name.trim() === '') throw fail('E_CONFIG_VALUE', 'a case needs a name', path);
      const overrides = Object.entries(values).map(([set, value]) => {
        const [at, wrong] = [[...path, name, set], problemOf(set)];
        if (wrong !== undefined) throw fail('E_CONFIG_KEY', wrong, at);
        return `${set}=${jsonOf(value, at, writtenAt)}`;
      });
      return { name, overrides };
    });
    if (cases.length === 0) throw fail('E_CONFIG_VALUE', 'needs at least one case', path);
    if (keyExists(tree, key, plugins))
      throw fail('E_CONFIG_VALUE', `${key} is a key of the experiment: give the axis another name`, path);
    return { key, cases };
  });
}

/** Reason why a case cannot set this key. */
function problemOf(key: string): string | undefined {
  if (!isOverrideKey(key)) return `"${key}" is not a dotted key such as policy.maxBatch`;
  if (key === 'seed') return 'every case runs with the same seeds: give them in sweep.seeds';
  if (key === 'sweep' || key.startsWith('sweep.'))
    return 'is for all cases: set it in the sweep section itself';
  return undefined;
}

/** The axes as keys that vary, for results. */
export function caseKeys(axes: readonly CaseAxis[]): VariedKey[] {
  return axes.map(({ key, cases }) => ({ key, values: cases.map(({ name }) => name) }));
}

/** Overrides of the chosen case of each axis. */
export function caseOverrides(
  axes: readonly CaseAxis[],
  chosen: Readonly<Record<string, string>>,
): readonly string[] {
  return axes.flatMap(({ key, cases }) => caseNamed(cases, chosen[key])?.overrides ?? []);
}

/**
 * Turns a mistake in an override of a case into one in the file; undefined for others. `chosen`: the case of each axis.
 */
export function asMistakeInCase(
  error: EscapementError,
  axes: readonly CaseAxis[],
  chosen: Readonly<Record<string, string>>,
  source: SourceDocument,
): EscapementError | undefined {
  for (const { key: axis, cases } of axes) {
    for (const text of caseNamed(cases, chosen[axis])?.overrides ?? []) {
      if (error.place.flag !== `--set ${text}`) continue;
      const path = ['sweep', 'cases', axis, chosen[axis]!, text.slice(0, text.indexOf('='))];
      const { key } = error.place;
      const line = source.lineOf(path);
      return new EscapementError(error.code, error.what, {
        file: source.file,
        ...(line === undefined ? {} : { line }),
        key: [...path, ...(key === undefined ? [] : [key])].join('.'),
      });
    }
  }
  return undefined;
}

function caseNamed(cases: readonly Case[], name: string | undefined): Case | undefined {
  return cases.find((one) => one.name === name);
}

/** A value as JSON, which is YAML, but with numbers, booleans and null as written. */
function jsonOf(value: unknown, path: Path, writtenAt: OverriddenTree['writtenAt']): string {
  const inner = (part: string | number, child: unknown) => jsonOf(child, [...path, part], writtenAt);
  if (Array.isArray(value)) return `[${value.map((item, i) => inner(i, item)).join()}]`;
  if (!isSection(value))
    return (typeof value === 'string' ? undefined : writtenAt(path)) ?? JSON.stringify(value);
  return `{${Object.entries(value).map(([key, child]) => `${JSON.stringify(key)}:${inner(key, child)}`)}}`;
}
