import { Counter, type Registry } from 'prom-client';
import { newRefusalCounters, readRefusals } from '../../frontend/refusal-counts.js';

/**
 * What the frontends refused, read when somebody asks. Each series is there from the start, so that its first rise shows.
 * Returns the counters for the frontends.
 */
export function registerRefusals(registry: Registry): SharedArrayBuffer {
  const counters = newRefusalCounters();
  new Counter({
    name: 'escapement_refused_total',
    help: 'Inference requests that a frontend refused before the scheduler saw them',
    labelNames: ['transport', 'reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { transport, reason, count } of readRefusals(counters))
        this.inc({ transport, reason }, count);
    },
  });
  return counters;
}
