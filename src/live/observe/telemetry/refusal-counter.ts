import { Counter, type Registry } from 'prom-client';
import { newRefusalCounters, readRefusals } from '../../frontend/refusal-counts.js';
import type { NameLabels } from './name-labels.js';

/**
 * What the frontends refused, read when somebody asks. Each series without a model is there from the start, so that its
 * first rise shows. Returns the counters for the frontends.
 */
export function registerRefusals(registry: Registry, labels: NameLabels): SharedArrayBuffer {
  const counters = newRefusalCounters();
  new Counter({
    name: 'escapement_refused_total',
    help: 'Inference requests that a frontend refused before the scheduler saw them',
    labelNames: ['transport', 'reason', 'model'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { transport, reason, label, count } of readRefusals(counters)) {
        const model = label === 0 ? {} : { model: labels.valueOf(label) };
        this.inc({ transport, reason, ...model }, count);
      }
    },
  });
  return counters;
}
