import { NS_PER_MS, NS_PER_S } from '../../core/units.js';
import type { PolicyEntry } from '../entry.js';
import { AlpaServePolicy } from './policy.js';

export const alpaserveEntry: PolicyEntry = {
  kind: 'alpaserve-sr',
  summary: 'places replicas greedily for recent traffic, anew every window; FIFO with rejection (OSDI 2023)',
  options: {
    maxBatch: { type: 'integer', default: 8, min: 1, describe: 'largest batch size used' },
    window: {
      type: 'duration',
      default: 10 * NS_PER_S,
      min: 10 * NS_PER_MS,
      describe: 'how long a placement lasts; the first is made after a tenth of it',
    },
    margin: {
      type: 'duration',
      default: 0,
      min: 0,
      describe: 'how long before its deadline a batch shall end: for the network, and for what takes longer',
    },
  },
  create(context, options) {
    return new AlpaServePolicy(context, {
      maxBatch: options.maxBatch as number,
      windowNs: options.window as number,
      marginNs: options.margin as number,
    });
  },
};
