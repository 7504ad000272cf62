import { MAX_BATCH } from '../common/options.js';
import type { PolicyEntry } from '../entry.js';
import { EdgeServingPolicy } from './policy.js';

export const edgeServingEntry: PolicyEntry = {
  kind: 'edgeserving',
  summary: 'the batch after which what still waits is least urgent, in all queues together (ICCCN 2026)',
  onKinds: 'the paper has one GPU: here each GPU decides for itself, with its own times',
  weights: 'ignored',
  options: { maxBatch: MAX_BATCH },
  create(context, options) {
    return new EdgeServingPolicy(context, options.maxBatch as number);
  },
};
