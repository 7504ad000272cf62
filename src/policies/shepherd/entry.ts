import { NS_PER_S } from '../../base/units.js';
import { MARGIN, MAX_BATCH } from '../common/options.js';
import type { PolicyEntry } from '../entry.js';
import { ShepherdPolicy } from './policy.js';

export const shepherdEntry: PolicyEntry = {
  kind: 'shepherd',
  summary: 'groups of GPUs; the batch that meets the most deadlines runs, and may replace a running one',
  onKinds:
    'the paper has equal GPUs; here groups have equal numbers of GPUs of any kind, with the memory of the first, and each batch uses the times of its GPU',
  weights: 'ignored',
  options: {
    maxBatch: MAX_BATCH,
    preemption: {
      type: 'number',
      default: 3.03,
      min: 1,
      describe: 'a batch replaces a running one if it meets at least this many times as many deadlines',
    },
    period: {
      type: 'duration',
      default: 10 * NS_PER_S,
      min: 1,
      describe: 'interval at which models are assigned to groups of GPUs',
    },
    margin: MARGIN,
  },
  create(context, options) {
    return new ShepherdPolicy(context, {
      maxBatch: options.maxBatch as number,
      preemption: options.preemption as number,
      periodNs: options.period as number,
      marginNs: options.margin as number,
    });
  },
};
