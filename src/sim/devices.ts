import { stream } from '../base/random/streams.js';
import type { Cluster } from '../core/cluster.js';
import type { ModelSpec } from '../core/model.js';
import { NO_NOISE, SimDevice } from './device.js';
import type { EventQueue } from './event-queue.js';
import type { SimulatorOptions } from './simulator-options.js';

/** GPUs of a simulated cluster. `models`: true models, which may differ from their profiles; `clock`: true time. */
export function devicesOf(
  options: SimulatorOptions,
  { kindOf }: Cluster,
  models: readonly ModelSpec[],
  events: EventQueue,
  clock: { readonly nowNs: number },
): SimDevice[] {
  const { seed } = options;
  const shared = {
    models,
    events,
    clock,
    copyBytesPerS: options.copyBytesPerS ?? Number.POSITIVE_INFINITY,
    noise: options.noise ?? NO_NOISE,
    exponential: options.exponential ?? false,
    overheadNs: options.overheadNs ?? 0,
    abortNs: options.abortNs ?? 0,
    execRandom: stream(seed, 'exec-noise'),
    loadRandom: stream(seed, 'load-noise'),
  };
  return Array.from(kindOf, (kind, gpu) => {
    const spreads = options.spreads?.[kind] ?? null;
    return new SimDevice({ ...shared, gpu, kind, spreads });
  });
}
