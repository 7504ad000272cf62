import { type ErrorPlace, EscapementError } from '../base/errors.js';
import type { Plugin } from '../policies/entry.js';
import type { VariedKey } from '../record/results.js';
import type { Path, SourceDocument } from './document.js';
import { keyExists } from './keys.js';
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
 * The `sweep:` section of an experiment file, or undefined if it has none. Throws errors of the file. Varied keys, and
 * those set by cases, are checked with the cells.
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
  const axis = vary.find(({ key }) => cases.some((one) => one.key === key))?.key;
  if (axis !== undefined) {
    const what = 'is an axis of cases, all of which run: leave it out of vary';
    throw new EscapementError('E_CONFIG_KEY', what, placeOf(['sweep', 'vary', axis]));
  }
  return { cases, vary, bound, ...(seeds === undefined ? {} : { seeds }) };
}

/** An axis of a sweep whose values are names, each for several overrides. */
export interface CaseAxis {
  readonly key: string;
  readonly cases: readonly Case[];
}

/** A name for several overrides: of an axis of cases, or of a scenario. */
export interface Case {
  readonly name: string;
  /** Section of the file with its overrides. */
  readonly path: Path;
  /** In the form of `--set`, with values in JSON. */
  readonly overrides: readonly string[];
}

/**
 * Axes of `sweep.cases` in the order of the file. Throws `E_CONFIG_VALUE` for one without cases, with a case without a
 * name, or named like a key, and `E_CONFIG_KEY` if a case sets an invalid key, or one that belongs to the sweep as a
 * whole.
 */
function readCases(
  section: Readonly<Record<string, Readonly<Record<string, Overrides>>>>,
  overridden: OverriddenTree,
  plugins: readonly Plugin[] = [],
): CaseAxis[] {
  const { tree, placeOf } = overridden;
  return Object.entries(section).map(([key, named]) => {
    const path = ['sweep', 'cases', key];
    const fail = (what: string) => new EscapementError('E_CONFIG_VALUE', what, placeOf(path));
    const cases = Object.entries(named).map(([name, values]) => {
      if (name.trim() === '') throw fail('a case needs a name');
      return caseAt(name, [...path, name], values, overridden);
    });
    if (cases.length === 0) throw fail('needs at least one case');
    if (keyExists(tree, key, plugins))
      throw fail(`${key} is a key of the experiment: give the axis another name`);
    return { key, cases };
  });
}

/**
 * The `scenarios:` section of an experiment file; empty if it has none. Throws errors of the file, and `E_CONFIG_KEY`
 * for a key that no scenario may set. Whether their keys exist is known when an experiment is built with them.
 */
export function readScenarios(
  source: SourceDocument,
  overrides: readonly string[],
  plugins: readonly Plugin[],
): Case[] {
  const overridden = applyOverrides(source, overrides, [], plugins);
  const { scenarios = [] } = validate(experimentSchemaWith(plugins), overridden.tree, overridden);
  return scenarios.map(({ name, overrides }, i) =>
    caseAt(name, ['scenarios', i, 'overrides'], overrides, overridden),
  );
}

type Overrides = Readonly<Record<string, unknown>>;

/** A case written at `path`. Throws `E_CONFIG_KEY` for a key that a case must not set. */
function caseAt(name: string, path: Path, values: Overrides, { placeOf }: OverriddenTree): Case {
  const overrides = Object.entries(values).map(([set, value]) => {
    const [at, wrong] = [[...path, set], problemOf(set)];
    if (wrong !== undefined) throw new EscapementError('E_CONFIG_KEY', wrong, placeOf(at));
    return `${set}=${JSON.stringify(value)}`;
  });
  return { name, path, overrides };
}

/** Reason why a case cannot set this key. */
function problemOf(key: string): string | undefined {
  if (!isOverrideKey(key)) return `"${key}" is not a dotted key such as policy.maxBatch`;
  if (key === 'seed') return 'every case runs with the same seeds: give them in sweep.seeds or with --seeds';
  const section = /^(?:sweep|scenarios)(?=\.|$)/.exec(key);
  return section === null ? undefined : `is for all cases: set it in the ${section[0]} section itself`;
}

/** The axes as keys that vary, for results. */
export function caseKeys(axes: readonly CaseAxis[]): VariedKey[] {
  return axes.map(({ key, cases }) => ({ key, values: cases.map(({ name }) => name) }));
}

/** The chosen case of each axis. */
export function chosenCases(axes: readonly CaseAxis[], chosen: Readonly<Record<string, string>>): Case[] {
  return axes.flatMap(({ key, cases }) => cases.find(({ name }) => name === chosen[key]) ?? []);
}

/** Place in the file of an override of a case; undefined for one of other texts. */
export function placeInCase(
  { path, overrides }: Case,
  override: string,
  source: SourceDocument,
): ErrorPlace | undefined {
  if (!overrides.includes(override)) return undefined;
  const at = [...path, override.slice(0, override.indexOf('='))];
  return { ...source.placeOf(at), key: at.join('.') };
}
