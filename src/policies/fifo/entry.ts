import { NS_PER_MS } from '../../base/units.js';
import { MAX_BATCH } from '../common/options.js';
import type { PolicyEntry } from '../entry.js';
import { FifoPolicy } from './policy.js';

export const fifoEntry: PolicyEntry = {
  kind: 'fifo',
  summary: 'per-model queues; a batch goes when full or after a maximum delay; ignores SLOs',
  onKinds: 'the rule ignores times: any free GPU takes the next batch, however slow it is',
  weights: 'ignored',
  options: {
    maxBatch: MAX_BATCH,
    maxDelay: {
      type: 'duration',
      default: 5 * NS_PER_MS,
      min: 0,
      describe: 'how long the oldest request waits for its batch to fill',
    },
  },
  create(context, options) {
    return new FifoPolicy(context, {
      maxBatch: options.maxBatch as number,
      maxDelayNs: options.maxDelay as number,
    });
  },
};
