import { MAX_BATCH } from '../common/options.js';
import type { PolicyEntry } from '../entry.js';
import { ClipperPolicy } from './policy.js';

export const clipperEntry: PolicyEntry = {
  kind: 'clipper',
  summary:
    'batch sizes follow measured latency: larger while SLOs are met, 10 % smaller after a miss (NSDI 2017)',
  onKinds:
    'the paper gives each container its own batch limit; here a model has one for all kinds, which its slowest GPUs determine',
  weights: 'ignored',
  options: {
    maxBatch: MAX_BATCH,
    increase: {
      type: 'integer',
      default: 2,
      min: 1,
      describe: 'initial largest batch of a model, and its increase after a full batch in time',
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
