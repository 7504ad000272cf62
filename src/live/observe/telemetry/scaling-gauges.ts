import { Gauge, type Registry } from 'prom-client';

/** How many GPUs are needed, and why. */
interface NeededGpus {
  readonly kinds: readonly { readonly name: string; readonly gpus: number }[];
  readonly reason: string;
}

/** Says how many GPUs are needed, for what starts and stops workers. Without a scaler there is no such metric. */
export function registerNeededGpus(registry: Registry, needed: () => NeededGpus | null): void {
  const registers = [registry];
  new Gauge({
    name: 'escapement_gpus_needed',
    help: 'GPUs that the scaler wants, those that are there included',
    labelNames: ['kind'],
    registers,
    collect() {
      this.reset();
      for (const { name, gpus } of needed()?.kinds ?? []) this.set({ kind: name }, gpus);
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
