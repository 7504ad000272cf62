import type { ModelState } from '../live/observe/telemetry/model-states.js';
import type { ModelEntry, ServiceState } from '../live/service.js';
import { isUnloaded } from './unserved.js';

/** Versions of models with their states, as metrics tell them apart. */
export function modelStates({
  entries,
}: ServiceState): { readonly name: string; readonly state: ModelState }[] {
  return entries.map((entry) => ({ name: entry.name, state: stateOf(entry) }));
}

function stateOf(entry: ModelEntry): ModelState {
  const { state, reason } = entry;
  if (state === 'ready' && reason !== '') return 'outdated';
  return isUnloaded(entry) ? 'unloaded' : state;
}
