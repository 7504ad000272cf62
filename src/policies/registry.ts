import { clockworkEntry } from './clockwork/entry.js';
import type { PolicyEntry } from './entry.js';
import { fifoEntry } from './fifo/entry.js';

/** Every policy that an experiment can name. */
export const POLICIES: readonly PolicyEntry[] = [clockworkEntry, fifoEntry];
