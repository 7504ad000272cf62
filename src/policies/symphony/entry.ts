import { MARGIN, MAX_BATCH } from '../common/options.js';
import type { PolicyEntry } from '../entry.js';
import { SymphonyPolicy } from './policy.js';

export const symphonyEntry: PolicyEntry = {
  kind: 'symphony',
  summary: 'deferred batching: a batch is held until one more request would make its oldest late',
  onKinds:
    'the paper has equal GPUs; here a batch is formed with the times of the GPU that it goes to, the one that has been free for longest, fast or slow',
  weights: 'ignored',
  options: {
    maxBatch: MAX_BATCH,
    margin: MARGIN,
  },
  create(context, options) {
    return new SymphonyPolicy(context, {
      maxBatch: options.maxBatch as number,
      marginNs: options.margin as number,
    });
  },
};
