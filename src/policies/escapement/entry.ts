import { MAX_BATCH } from '../common/options.js';
import { AUTO, type PolicyEntry } from '../entry.js';
import { EscapementPolicy } from './policy.js';

export const escapementEntry: PolicyEntry = {
  kind: 'escapement',
  summary: 'weighs requests per GPU time against slack, places models by their worth, tunes itself',
  weights: 'used',
  sharesFirst: true,
  batchesByLength: true,
  options: {
    scheduleAhead: {
      type: 'duration',
      default: AUTO,
      min: 0,
      auto: 'tuned at run time, from the errors of earlier plans',
      describe: 'how far into the future each lane is booked',
    },
    fairness: {
      type: 'number',
      default: 0,
      min: 0,
      max: 1,
      describe:
        'share of the overall attainment below which no model should fall; 0: goodput alone counts, as for other policies',
    },
    maxBatch: MAX_BATCH,
  },
  create(context, options) {
    const { scheduleAhead } = options;
    return new EscapementPolicy(context, {
      scheduleAheadNs: scheduleAhead === AUTO ? null : (scheduleAhead as number),
      fairness: options.fairness as number,
      maxBatch: options.maxBatch as number,
    });
  },
};
