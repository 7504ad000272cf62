import { EscapementError } from '../base/errors.js';
import type { Dimension } from './figures.js';
import { type PartNames, type Threshold, unknownPart } from './threshold.js';

/**
 * Throws `E_USAGE` for the first threshold on a part that no experiment has, before anything runs; `flag`: the one that
 * sets thresholds.
 */
export function refuseUnknownParts(
  thresholds: readonly Threshold[],
  experiments: readonly PartNames[],
  flag: 'threshold' | 'target',
): void {
  if (experiments.length === 0) return;
  const dimensions = Object.keys(experiments[0]!) as Dimension[];
  const names = Object.fromEntries(
    dimensions.map((dimension) => [dimension, [...new Set(experiments.flatMap((each) => each[dimension]))]]),
  ) as unknown as PartNames;
  for (const threshold of thresholds) {
    const what = unknownPart(threshold, names);
    if (what !== null) throw new EscapementError('E_USAGE', what, { flag: `--${flag} '${threshold.text}'` });
  }
}
