import { collectDefaultMetrics, Registry } from 'prom-client';

/** A registry with the metrics of the process itself: CPU, memory, event loop, garbage collection. */
export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
