import { Gauge, type Registry } from 'prom-client';
import type { ScalingStatus } from '../status/cluster-status.js';

/** Says how many GPUs are needed, for what starts and stops workers. Without a scaler there is no such metric. */
export function registerNeededGpus(registry: Registry, needed: () => ScalingStatus | null): void {
  const registers = [registry];
  new Gauge({
    name: 'escapement_gpus_needed',
    help: 'GPUs that the scaler wants, those that are there included',
    labelNames: ['kind'],
    registers,
    collect() {
      this.reset();
      for (const { kind, needed: gpus } of needed()?.gpus ?? []) this.set({ kind }, gpus);
    },
  });
  new Gauge({
    name: 'escapement_gpus_needed_reason',
    help: '1: why so many GPUs are needed, in words',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      const reason = needed()?.reason;
      if (reason !== undefined) this.set({ reason }, 1);
    },
  });
}
