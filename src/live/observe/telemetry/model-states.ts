import { Gauge, type Registry } from 'prom-client';
import type { NameLabels } from './labels.js';

/**
 * States of a version of a model: as in the repository index, but `outdated` is one that is ready and serves other files
 * than those on disk, which are refused, and `unloaded` one that is not meant to be served.
 */
const MODEL_STATES = ['ready', 'outdated', 'loading', 'unloading', 'unloaded', 'unavailable'] as const;
export type ModelState = (typeof MODEL_STATES)[number];

/** How many versions of each model are in which state, read when somebody asks. */
export function registerModelStates(
  registry: Registry,
  labels: NameLabels,
  read: () => readonly { readonly name: string; readonly state: ModelState }[],
): void {
  new Gauge({
    name: 'escapement_model_versions',
    help: 'Versions of a model that are in a state',
    labelNames: ['model', 'state'],
    registers: [registry],
    collect() {
      this.reset();
      const seen = new Set<string>();
      for (const { name, state } of read()) {
        const model = labels.valueOf(labels.numberOf(name));
        // Those that are 0, too: an alert needs to see that it is over.
        if (!seen.has(model)) for (const each of MODEL_STATES) this.set({ model, state: each }, 0);
        seen.add(model);
        this.inc({ model, state });
      }
    },
  });
}
