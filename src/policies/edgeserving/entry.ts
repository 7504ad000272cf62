import { MAX_BATCH } from '../common/options.js';
import type { PolicyEntry } from '../entry.js';
import { EdgeServingPolicy } from './policy.js';

export const edgeServingEntry: PolicyEntry = {
  kind: 'edgeserving',
  summary: 'the batch after which all waiting requests together are least urgent (ICCCN 2026)',
  onKinds: 'the paper has one GPU: here each GPU decides for itself, with its own times',
  weights: 'ignored',
  options: { maxBatch: MAX_BATCH },
  create(context, options) {
    return new EdgeServingPolicy(context, options.maxBatch as number);
  },
};
