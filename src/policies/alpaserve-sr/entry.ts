import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import { MARGIN, MAX_BATCH } from '../common/options.js';
import type { PolicyEntry } from '../entry.js';
import { AlpaServePolicy } from './policy.js';

export const alpaserveEntry: PolicyEntry = {
  kind: 'alpaserve-sr',
  summary: 'places replicas greedily for recent traffic, again every window; FIFO with rejection (OSDI 2023)',
  onKinds:
    "the paper has equal GPUs; here replicas are placed by the times of a model's fastest kind and by each GPU's own memory, and each queue uses the times of its GPU",
  weights: 'ignored',
  options: {
    maxBatch: MAX_BATCH,
    window: {
      type: 'duration',
      default: 10 * NS_PER_S,
      min: 10 * NS_PER_MS,
      describe: 'how long a placement lasts; the first is made after a tenth of it',
    },
    margin: MARGIN,
  },
  create(context, options) {
    return new AlpaServePolicy(context, {
      maxBatch: options.maxBatch as number,
      windowNs: options.window as number,
      marginNs: options.margin as number,
    });
  },
};
