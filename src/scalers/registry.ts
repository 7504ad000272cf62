import { clairvoyantEntry } from './clairvoyant.js';
import type { ScalerEntry } from './entry.js';
import { predictiveEntry } from './predictive.js';
import { reactiveEntry } from './reactive.js';

/** All scalers that an experiment can name, in addition to `none`. */
export const SCALERS: readonly ScalerEntry[] = [clairvoyantEntry, predictiveEntry, reactiveEntry];
