import { AUTO, type PolicyOptions } from '../../src/policies/entry.js';
import { MS } from './policy-harness.js';

/** Of each policy, for tests of GPUs that come and go: short periods, batches of 4. */
export const OPTIONS = {
  'alpaserve-sr': { maxBatch: 4, window: 20 * MS, margin: 0 },
  clipper: { maxBatch: 4, increase: 2, maxDelay: 0 },
  nexus: { maxBatch: 4, epoch: 20 * MS },
  clockwork: { scheduleAhead: 10 * MS, maxBatch: 4, maxExec: 250 * MS },
  edf: { maxBatch: 4, margin: 0 },
  edgeserving: { maxBatch: 4 },
  escapement: { scheduleAhead: AUTO, fairness: 0.55, maxBatch: 4 },
  fifo: { maxBatch: 4, maxDelay: 2 * MS },
  shepherd: { maxBatch: 4, preemption: 3.03, period: 20 * MS, margin: 0 },
  symphony: { maxBatch: 2, margin: 0 },
} satisfies Readonly<Record<string, PolicyOptions>>;
type Kind = keyof typeof OPTIONS;
export const KINDS = Object.keys(OPTIONS) as Kind[];
