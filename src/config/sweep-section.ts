import { EscapementError } from '../base/errors.js';
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
      return { name, overrides: overridesIn(values, [...path, name], overridden) };
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
  return scenarios.map(({ name, overrides }, i) => ({
    name,
    overrides: overridesIn(overrides, scenarioPath(i), overridden),
  }));
}

type Overrides = Readonly<Record<string, unknown>>;

/** Overrides of a case at `path`. Throws `E_CONFIG_KEY` for a key that a case must not set. */
function overridesIn(values: Overrides, path: Path, { placeOf }: OverriddenTree): string[] {
  return Object.entries(values).map(([set, value]) => {
    const [at, wrong] = [[...path, set], problemOf(set)];
    if (wrong !== undefined) throw new EscapementError('E_CONFIG_KEY', wrong, placeOf(at));
    return `${set}=${JSON.stringify(value)}`;
  });
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
  for (const { key, cases } of axes) {
    const one = caseNamed(cases, chosen[key]);
    const found = one && mistakeAt(['sweep', 'cases', key, one.name], one, error, source);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Turns a mistake in an override of a scenario, by its index, into one in the file; undefined for others. */
export function asMistakeInScenario(
  error: EscapementError,
  scenario: Case,
  index: number,
  source: SourceDocument,
): EscapementError | undefined {
  return mistakeAt(scenarioPath(index), scenario, error, source);
}

function mistakeAt(
  path: Path,
  { overrides }: Case,
  error: EscapementError,
  source: SourceDocument,
): EscapementError | undefined {
  const text = overrides.find((override) => error.place.flag === `--set ${override}`);
  if (text === undefined) return undefined;
  const set = text.slice(0, text.indexOf('='));
  const key = [...path, error.place.key ?? set].join('.');
  return new EscapementError(error.code, error.what, { ...source.placeOf([...path, set]), key });
}

function scenarioPath(index: number): Path {
  return ['scenarios', index, 'overrides'];
}

function caseNamed(cases: readonly Case[], name: string | undefined): Case | undefined {
  return cases.find((one) => one.name === name);
}
