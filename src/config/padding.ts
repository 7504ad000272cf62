import { type ErrorPlace, EscapementError } from '../base/errors.js';
import type { Padding } from '../core/lengths.js';
import { entryOf } from './create-policy.js';
import type { PolicyChoice } from './schema-policy.js';

interface Wanted {
  readonly policy: PolicyChoice;
  readonly padding?: Padding;
  readonly classes?: object;
  readonly tenants?: { readonly list: readonly unknown[] };
}

/**
 * How inputs of different lengths share a batch. Where there are several tenants, batches are by length only if that is asked for:
 * those within their share would not go first. Throws `E_CONFIG_VALUE` for `bucket` where the policy does not batch by length,
 * or requests have classes, which no policy batches by length.
 */
export function paddingOf({ policy, padding, classes = {}, tenants }: Wanted, place: ErrorPlace): Padding {
  const knowsLengths = entryOf(policy)?.batchesByLength === true;
  const hasClasses = Object.keys(classes).length > 0;
  if (padding === 'bucket' && (!knowsLengths || hasClasses)) {
    const why = knowsLengths
      ? 'requests with classes are batched by weight, not'
      : `${policy.kind} does not batch`;
    const what = `${why} by length: choose batch or longest, or leave out ${knowsLengths ? 'classes' : 'padding'}`;
    throw new EscapementError('E_CONFIG_VALUE', what, place);
  }
  const byLength = knowsLengths && !hasClasses && (tenants?.list.length ?? 0) <= 1;
  return padding ?? (byLength ? 'bucket' : 'batch');
}
