import type { ServiceState } from '../live/service.js';
import { isUnloaded, MEASURING } from './unserved.js';

/** How far a start has come. */
export function progress(entries: ServiceState['entries']): string {
  const wanted = entries.filter((entry) => !isUnloaded(entry));
  if (wanted.length === 0) return 'looking for models';
  const ready = wanted.filter(({ state }) => state === 'ready').length;
  const measured = wanted.find(({ reason }) => reason === MEASURING);
  const doing = measured === undefined ? 'loading the others' : `measuring ${measured.name}`;
  return `${ready} of ${wanted.length} models are ready; ${doing}`;
}
