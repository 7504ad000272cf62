import { CLOCK_CHANGE, CONDITIONS_CHANGE, type EventQueue, GPU_FAILS, GPU_RETURNS } from './event-queue.js';
import type { SimulatorOptions } from './simulator-options.js';

/** Schedules the events planned by an experiment: changes of GPU clocks, noise and network, and failures. */
export function schedulePlanned(
  events: EventQueue,
  {
    gpus,
    gpuClock = [],
    changes = [],
    fleet,
  }: Pick<SimulatorOptions, 'gpus' | 'gpuClock' | 'changes' | 'fleet'>,
): void {
  for (const { atNs, gpu, factor } of gpuClock) {
    const first = Math.max(gpu, 0);
    const last = gpu < 0 ? gpus - 1 : gpu;
    for (let g = first; g <= last; g++) events.schedule(atNs, CLOCK_CHANGE, g, null).clockFactor = factor;
  }
  for (const [i, { atNs }] of changes.entries()) events.schedule(atNs, CONDITIONS_CHANGE, 0, null).change = i;
  for (const { gpu, atNs, untilNs } of fleet?.failures ?? []) {
    events.schedule(atNs, GPU_FAILS, gpu, null);
    if (untilNs < Number.POSITIVE_INFINITY) events.schedule(untilNs, GPU_RETURNS, gpu, null);
  }
}
