import { EscapementError } from '../base/errors.js';
import { usableCores } from '../base/limits/usable.js';
import { suggestion } from '../base/nearest.js';
import type { Plugin } from '../policies/entry.js';
import type { VariedKey } from '../record/results.js';
import { isSection, type Path, type SourceDocument, unknownKind } from './document.js';
import { describeKeys, keyExists } from './keys.js';
import { applyOverrides, isKindKey, isOverrideKey, type OverriddenTree } from './overrides.js';
import { withPreset } from './runtime-settings.js';
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
  const { sweep } = validate(experimentSchemaWith(plugins), withPreset(tree, usableCores), overridden);
  if (sweep === undefined) return undefined;
  const { seeds, bound } = sweep;
  const cases = readCases(sweep.cases, overridden, plugins);
  const vary = Object.entries(sweep.vary).map(([key, values]) => ({ key, values }));
  for (const { key } of vary) {
    if (keyExists(tree, key, plugins) || existsInVariant(key, { source, overrides, cases, vary, plugins }))
      continue;
    if (cases.some((axis) => axis.key === key)) {
      const what = 'is an axis of cases, all of which run: leave it out of vary';
      throw new EscapementError('E_CONFIG_KEY', what, placeOf(['sweep', 'vary', key]));
    }
    const known = describeKeys(plugins).map((description) => description.key);
    throw new EscapementError(
      'E_CONFIG_KEY',
      unknownKind(tree, key.split('.')) ?? `unknown key "${key}": ${suggestion(key, [...new Set(known)])}`,
      placeOf(['sweep', 'vary', key]),
    );
  }
  return { cases, vary, bound, ...(seeds === undefined ? {} : { seeds }) };
}

interface Variants {
  readonly source: SourceDocument;
  readonly overrides: readonly string[];
  readonly cases: readonly CaseAxis[];
  readonly vary: readonly VariedKey[];
  readonly plugins: readonly Plugin[];
}

/** True if any combination of cases and varied kinds has the key: one of the compared policies suffices. */
function existsInVariant(key: string, { source, overrides, cases, vary, plugins }: Variants): boolean {
  const kinds = vary.filter((varied) => isKindKey(varied.key));
  const ofCases = cases.map((axis) => axis.cases.map((one) => one.overrides));
  const ofKinds = kinds.map(({ key: kind, values }) => values.map((value) => [`${kind}=${value}`]));
  for (const variant of combinations([...ofCases, [overrides], ...ofKinds])) {
    try {
      if (keyExists(applyOverrides(source, variant, [], plugins).tree, key, plugins)) return true;
    } catch (error) {
      // Mistakes in a case are reported when its cells are checked.
      if (!(error instanceof EscapementError)) throw error;
    }
  }
  return false;
}

/** All combinations of one item from each list, joined. */
function* combinations(lists: readonly (readonly (readonly string[])[])[]): Generator<readonly string[]> {
  const [first, ...rest] = lists;
  if (first === undefined) {
    yield [];
    return;
  }
  for (const chosen of first) for (const others of combinations(rest)) yield [...chosen, ...others];
}

/** An axis of a sweep whose values are names, each for several overrides. */
export interface CaseAxis {
  readonly key: string;
  readonly cases: readonly Case[];
}

export interface Case {
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
  return Object.entries(section).map(([key, named]) => {
    const path = ['sweep', 'cases', key];
    const cases = Object.entries(named).map(([name, values]) => {
      if (name.trim() === '')
        throw new EscapementError('E_CONFIG_VALUE', 'a case needs a name', placeOf(path));
      for (const set of Object.keys(values)) {
        const wrong = problemOf(set);
        if (wrong !== undefined)
          throw new EscapementError('E_CONFIG_KEY', wrong, placeOf([...path, name, set]));
      }
      const overrides = Object.entries(values).map(
        ([set, value]) => `${set}=${jsonOf(value, [...path, name, set], writtenAt)}`,
      );
      return { name, overrides };
    });
    if (cases.length === 0)
      throw new EscapementError('E_CONFIG_VALUE', 'needs at least one case', placeOf(path));
    if (keyExists(tree, key, plugins)) {
      const what = `${key} is a key of the experiment: give the axis another name`;
      throw new EscapementError('E_CONFIG_VALUE', what, placeOf(path));
    }
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
