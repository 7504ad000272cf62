import { CLOCK_CHANGE, CONDITIONS_CHANGE, type EventQueue } from './event-queue.js';
import type { SimulatorOptions } from './simulator-options.js';

/** Schedules the events planned by an experiment: changes of GPU clocks, noise and network. */
export function schedulePlanned(
  events: EventQueue,
  { gpus, gpuClock = [], changes = [] }: Pick<SimulatorOptions, 'gpus' | 'gpuClock' | 'changes'>,
): void {
  for (const { atNs, gpu, factor } of gpuClock) {
    const first = Math.max(gpu, 0);
    const last = gpu < 0 ? gpus - 1 : gpu;
    for (let g = first; g <= last; g++) events.schedule(atNs, CLOCK_CHANGE, g, null).clockFactor = factor;
  }
  for (const [i, { atNs }] of changes.entries()) events.schedule(atNs, CONDITIONS_CHANGE, 0, null).change = i;
}
