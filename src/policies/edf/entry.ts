import { MARGIN, MAX_BATCH } from '../common/options.js';
import type { PolicyEntry } from '../entry.js';
import { EdfPolicy } from './policy.js';

export const edfEntry: PolicyEntry = {
  kind: 'edf',
  summary: 'earliest deadline first, in the largest batch that meets that deadline',
  onKinds:
    'the rule is for one processor; here each GPU applies it with its own times, and the next free one takes the next batch',
  weights: 'ignored',
  options: {
    maxBatch: MAX_BATCH,
    margin: MARGIN,
  },
  create(context, options) {
    return new EdfPolicy(context, {
      maxBatch: options.maxBatch as number,
      marginNs: options.margin as number,
    });
  },
};
