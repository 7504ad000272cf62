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
  describe: 'how long before its deadline a batch shall end: for the network, and for what takes longer',
};
