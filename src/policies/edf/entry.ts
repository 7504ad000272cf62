import type { PolicyEntry } from '../entry.js';
import { EdfPolicy } from './policy.js';

export const edfEntry: PolicyEntry = {
  kind: 'edf',
  summary: 'earliest deadline first, in the largest batch that meets that deadline',
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
    return new EdfPolicy(context, {
      maxBatch: options.maxBatch as number,
      marginNs: options.margin as number,
    });
  },
};
