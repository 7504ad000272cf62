import { EscapementError } from '../base/errors.js';
import { type Threshold, unknownSender } from './threshold.js';

type Named = readonly { readonly name: string }[];

/** Classes and tenants declared by an experiment. */
export interface Senders {
  readonly classes: Named;
  readonly tenants: { readonly list: Named };
}

/**
 * Throws `E_USAGE` for the first threshold on a class or tenant that no experiment declares, before anything runs;
 * `flag`: the one that sets thresholds.
 */
export function refuseUnknownSenders(
  thresholds: readonly Threshold[],
  experiments: readonly Senders[],
  flag: 'threshold' | 'target',
): void {
  const names = {
    classes: namesIn(experiments.map(({ classes }) => classes)),
    tenants: namesIn(experiments.map(({ tenants }) => tenants.list)),
  };
  for (const threshold of thresholds) {
    const what = unknownSender(threshold, names);
    if (what !== null) throw new EscapementError('E_USAGE', what, { flag: `--${flag} '${threshold.text}'` });
  }
}

function namesIn(lists: readonly Named[]): string[] {
  return [...new Set(lists.flatMap((list) => list.map(({ name }) => name)))];
}
