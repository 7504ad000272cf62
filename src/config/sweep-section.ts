import { EscapementError } from '../base/errors.js';
import { usableCores } from '../base/limits/usable.js';
import { suggestion } from '../base/nearest.js';
import type { Plugin } from '../policies/entry.js';
import type { VariedKey } from '../record/results.js';
import { type CaseAxis, readCases } from './cases.js';
import type { SourceDocument } from './document.js';
import { unknownKind } from './gpu-paths.js';
import { describeKeys, keyExists } from './keys.js';
import { applyOverrides, isKindKey } from './overrides.js';
import { withPreset } from './presets.js';
import { experimentSchemaWith } from './schema.js';
import { validate } from './validate.js';

/** The sweep that a file asks for. */
export interface SweepSection {
  /** Axes of named cases in the order of the file. */
  readonly cases: readonly CaseAxis[];
  /** Keys in the order of the file, each with its values as written. */
  readonly vary: readonly VariedKey[];
  /** Absent: the seed of the file. */
  readonly seeds?: readonly number[];
  /** Whether each cell gets an upper bound on the goodput of any scheduler. */
  readonly bound: boolean;
}

/**
 * The `sweep:` section of an experiment file, or undefined if it has none. Throws what is wrong with the
 * file, and `E_CONFIG_KEY` for a varied key that does not exist. What cases set is checked with the cells.
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

/** Whether any combination of cases and varied kinds has the key: an option of any policy compared exists. */
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

/** One of each list, joined, in every way. */
function* combinations(lists: readonly (readonly (readonly string[])[])[]): Generator<readonly string[]> {
  const [first, ...rest] = lists;
  if (first === undefined) {
    yield [];
    return;
  }
  for (const chosen of first) for (const others of combinations(rest)) yield [...chosen, ...others];
}
