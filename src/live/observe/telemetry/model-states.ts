import { Gauge, type Registry } from 'prom-client';
import type { NameLabels } from './labels.js';

/**
 * States of a version of a model: as in the repository index, with two more: `outdated` for one that is ready and
 * serves other files than those on disk, which are rejected, and `unloaded` for one that is deliberately not served.
 */
const MODEL_STATES = ['ready', 'outdated', 'loading', 'unloading', 'unloaded', 'unavailable'] as const;
export type ModelState = (typeof MODEL_STATES)[number];

/** Number of versions of each model by state; computed on scrape. */
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
        // Zeros, too, so that an alert sees the end of a state.
        if (!seen.has(model)) for (const each of MODEL_STATES) this.set({ model, state: each }, 0);
        seen.add(model);
        this.inc({ model, state });
      }
    },
  });
}
