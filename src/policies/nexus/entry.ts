import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import { MAX_BATCH } from '../common/options.js';
import type { PolicyEntry } from '../entry.js';
import { NexusPolicy } from './policy.js';

export const nexusEntry: PolicyEntry = {
  kind: 'nexus',
  summary: 'packs sessions onto GPUs in duty cycles, again every epoch; drops early (SOSP 2019)',
  onKinds:
    'the paper has equal GPUs; here duty cycles are planned with the times of the first kind in cluster.gpus, and run on slower GPUs late: list the slowest kind first',
  weights: 'ignored',
  options: {
    maxBatch: MAX_BATCH,
    epoch: {
      type: 'duration',
      default: 10 * NS_PER_S,
      min: 10 * NS_PER_MS,
      describe: 'how long a plan lasts; the first is made after a tenth of it',
    },
  },
  create(context, options) {
    return new NexusPolicy(context, {
      maxBatch: options.maxBatch as number,
      epochNs: options.epoch as number,
    });
  },
};
