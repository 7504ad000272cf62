import { EscapementError } from '../base/errors.js';
import type { Plugin } from '../policies/entry.js';
import type { VariedKey } from '../record/results.js';
import { isSection, type Path, type SourceDocument } from './document.js';
import { keyExists } from './keys.js';
import { isOverrideKey, type OverriddenTree } from './overrides.js';

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
 * The axes of `sweep.cases` in the order of the file. Throws `E_CONFIG_VALUE` for one without cases, with a case
 * without a name, or named like a key, and `E_CONFIG_KEY` where a case sets what cannot be a key, or what belongs to
 * the sweep as a whole.
 */
export function readCases(
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

/** What keeps a case from setting this key. */
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

/** What the chosen case of each axis sets. */
export function caseOverrides(
  axes: readonly CaseAxis[],
  chosen: Readonly<Record<string, string>>,
): readonly string[] {
  return axes.flatMap(({ key, cases }) => caseNamed(cases, chosen[key])?.overrides ?? []);
}

/**
 * Turns a mistake in an override of a case into one in the file. Undefined for other errors. `chosen` is the case of
 * each axis.
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

/** A value as JSON, which is YAML, but with numbers, booleans and null as they are written. */
function jsonOf(value: unknown, path: Path, writtenAt: OverriddenTree['writtenAt']): string {
  const inner = (part: string | number, child: unknown) => jsonOf(child, [...path, part], writtenAt);
  if (Array.isArray(value)) return `[${value.map((item, i) => inner(i, item)).join()}]`;
  if (!isSection(value))
    return (typeof value === 'string' ? undefined : writtenAt(path)) ?? JSON.stringify(value);
  return `{${Object.entries(value).map(([key, child]) => `${JSON.stringify(key)}:${inner(key, child)}`)}}`;
}
