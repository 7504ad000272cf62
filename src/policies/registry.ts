import { alpaserveEntry } from './alpaserve-sr/entry.js';
import { clipperEntry } from './clipper/entry.js';
import { clockworkEntry } from './clockwork/entry.js';
import { edfEntry } from './edf/entry.js';
import { edgeServingEntry } from './edgeserving/entry.js';
import type { PolicyEntry } from './entry.js';
import { escapementEntry } from './escapement/entry.js';
import { fifoEntry } from './fifo/entry.js';
import { nexusEntry } from './nexus/entry.js';
import { shepherdEntry } from './shepherd/entry.js';
import { symphonyEntry } from './symphony/entry.js';

/** All policies that an experiment can name. */
export const POLICIES: readonly PolicyEntry[] = [
  alpaserveEntry,
  clipperEntry,
  clockworkEntry,
  edfEntry,
  edgeServingEntry,
  escapementEntry,
  fifoEntry,
  nexusEntry,
  shepherdEntry,
  symphonyEntry,
];
