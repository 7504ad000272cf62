import { EscapementError } from '../core/errors.js';
import type { VariedKey } from '../metrics/results.js';
import type { SourceDocument } from './document.js';
import { describeKeys, keyExists } from './keys.js';
import { suggestion } from './nearest.js';
import { applyOverrides, POLICY_KIND } from './overrides.js';
import { experimentSchema } from './schema.js';
import { validate } from './validate.js';

/** The sweep that a file asks for. */
export interface SweepSection {
  /** Keys in the order of the file, each with its values as written. */
  readonly vary: readonly VariedKey[];
  /** Absent: the seed of the file. */
  readonly seeds?: readonly number[];
}

/**
 * The `sweep:` section of an experiment file, or undefined if it has none. Throws what is wrong with the
 * file, and `E_CONFIG_KEY` for a varied key that does not exist.
 */
export function readSweepSection(
  source: SourceDocument,
  overrides: readonly string[] = [],
): SweepSection | undefined {
  const { tree, placeOf } = applyOverrides(source, overrides);
  const { sweep } = validate(experimentSchema, tree, placeOf);
  if (sweep === undefined) return undefined;
  // An option of any policy that the sweep compares exists.
  const kinds = sweep.vary[POLICY_KIND] ?? [];
  const trees = [
    tree,
    ...kinds.map((kind) => applyOverrides(source, [...overrides, `${POLICY_KIND}=${kind}`]).tree),
  ];
  for (const key of Object.keys(sweep.vary)) {
    if (trees.some((candidate) => keyExists(candidate, key))) continue;
    const known = describeKeys().map((description) => description.key);
    throw new EscapementError(
      'E_CONFIG_KEY',
      `unknown key "${key}": ${suggestion(key, [...new Set(known)])}`,
      placeOf(['sweep', 'vary', key]),
    );
  }
  const vary = Object.entries(sweep.vary).map(([key, values]) => ({ key, values }));
  return sweep.seeds === undefined ? { vary } : { vary, seeds: sweep.seeds };
}
