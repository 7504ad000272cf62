import type { PolicyOption } from '../entry.js';

/** Options that several policies have. */
export const MAX_BATCH: PolicyOption = {
  type: 'integer',
  default: 8,
  min: 1,
  describe: 'largest batch size used',
};

export const MARGIN: PolicyOption = {
  type: 'duration',
  default: 0,
  min: 0,
  describe: 'safety margin between the end of a batch and its deadline, for the network and slow executions',
};
