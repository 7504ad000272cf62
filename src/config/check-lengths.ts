import { type ErrorPlace, EscapementError } from '../base/errors.js';
import type { ModelSpec } from '../core/model.js';
import { longestOf } from '../workload/lengths.js';
import { selectModels } from '../workload/select-models.js';
import type { LengthSpec } from '../workload/spec.js';

interface Section {
  readonly models?: readonly string[];
  readonly length?: LengthSpec;
}

/**
 * Throws `E_CONFIG_VALUE` where a section of the workload says how long its inputs are, and no model of it takes several lengths, or
 * one ends before the longest.
 */
export function checkLengths(
  { models: patterns, length }: Section,
  models: readonly ModelSpec[],
  place: ErrorPlace,
): void {
  if (length === undefined) return;
  const names = models.map(({ name }) => name);
  const varied = [...selectModels(names, patterns)].flatMap((index) => {
    const { name, lengths } = models[index]!;
    return lengths === undefined ? [] : [{ name, end: lengths.at(-1)! }];
  });
  if (varied.length === 0) {
    const what =
      'no model of this workload takes inputs of several lengths: leave it out, or give a profile with shorter ones';
    throw new EscapementError('E_CONFIG_VALUE', what, place);
  }
  const longest = longestOf(length);
  const tooShort = longest === Number.POSITIVE_INFINITY ? undefined : varied.find(({ end }) => end < longest);
  if (tooShort === undefined) return;
  const what = `inputs as long as ${longest} are more than ${tooShort.name} takes: its profile ends at ${tooShort.end}`;
  throw new EscapementError('E_CONFIG_VALUE', what, place);
}
