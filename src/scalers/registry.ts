import { clairvoyantEntry } from './clairvoyant.js';
import type { ScalerEntry } from './entry.js';
import { predictiveEntry } from './predictive.js';
import { reactiveEntry } from './reactive.js';

/** Every scaler that an experiment can name, besides `none`. */
export const SCALERS: readonly ScalerEntry[] = [clairvoyantEntry, predictiveEntry, reactiveEntry];
