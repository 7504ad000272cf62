import { type ErrorPlace, EscapementError } from '../base/errors.js';
import type { Padding } from '../core/lengths.js';
import type { ModelSpec } from '../core/model.js';
import { entryOf } from './create-policy.js';
import type { PolicyChoice } from './schema-policy.js';

interface Wanted {
  readonly policy: PolicyChoice;
  readonly padding?: Padding;
  readonly classes?: object;
  readonly tenants?: { readonly list: readonly unknown[] };
}

/**
 * How inputs of different lengths share a batch. By default, batches are by length wherever the policy can do that. With several
 * tenants it then does not serve those within their shares first, which only pays if a model has lengths. Throws `E_CONFIG_VALUE` for `bucket` where the policy does not batch by length,
 * or requests have classes, which no policy batches by length.
 */
export function paddingOf(
  { policy, padding, classes = {}, tenants }: Wanted,
  models: readonly Pick<ModelSpec, 'lengths'>[],
  place: ErrorPlace,
): Padding {
  const knowsLengths = entryOf(policy)?.batchesByLength === true;
  const hasClasses = Object.keys(classes).length > 0;
  if (padding === 'bucket' && (!knowsLengths || hasClasses)) {
    const why = knowsLengths
      ? 'requests with classes are batched by weight, not'
      : `${policy.kind} does not batch`;
    const what = `${why} by length: choose batch or longest, or leave out ${knowsLengths ? 'classes' : 'padding'}`;
    throw new EscapementError('E_CONFIG_VALUE', what, place);
  }
  const hasLengths = models.some(({ lengths }) => lengths !== undefined);
  const byLength = knowsLengths && !hasClasses && (hasLengths || (tenants?.list.length ?? 0) <= 1);
  return padding ?? (byLength ? 'bucket' : 'batch');
}
