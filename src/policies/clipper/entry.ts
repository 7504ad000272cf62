import { MAX_BATCH } from '../common/options.js';
import type { PolicyEntry } from '../entry.js';
import { ClipperPolicy } from './policy.js';

export const clipperEntry: PolicyEntry = {
  kind: 'clipper',
  summary: 'batch sizes follow measured latency: more while it is met, 10 % less when not (NSDI 2017)',
  onKinds:
    'the paper gives each container a batch limit of its own: here a model has one for all kinds, which its slowest GPUs set',
  weights: 'ignored',
  options: {
    maxBatch: MAX_BATCH,
    increase: {
      type: 'integer',
      default: 2,
      min: 1,
      describe: "what a model's largest batch starts with, and grows by after a full one in time",
    },
    maxDelay: {
      type: 'duration',
      default: 0,
      min: 0,
      describe: 'how long the oldest request waits for its batch to fill',
    },
  },
  create(context, options) {
    return new ClipperPolicy(context, {
      maxBatch: options.maxBatch as number,
      increase: options.increase as number,
      maxDelayNs: options.maxDelay as number,
    });
  },
};
