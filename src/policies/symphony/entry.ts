import type { PolicyEntry } from '../entry.js';
import { SymphonyPolicy } from './policy.js';

export const symphonyEntry: PolicyEntry = {
  kind: 'symphony',
  summary: 'deferred batching: a batch is held until one more request would make its oldest late',
  options: {
    maxBatch: { type: 'integer', default: 8, min: 1, describe: 'largest batch size used' },
    margin: {
      type: 'duration',
      default: 0,
      min: 0,
      describe: 'how long before its deadline a batch shall end: for the network, and for what takes longer',
    },
  },
  create(context, options) {
    return new SymphonyPolicy(context, {
      maxBatch: options.maxBatch as number,
      marginNs: options.margin as number,
    });
  },
};
