import { PROVIDERS, type Provider } from '../../live/device.js';
import { type Check, type DoctorReport, judge, makeReport, type Role } from './check.js';
import { gpuChecks } from './gpu/gpu-checks.js';
import { nvidiaSmi } from './gpu/nvidia-smi.js';
import { type Host, isContainer } from './host.js';
import { MACHINE, WORKER } from './rows.js';
import { type Probe, probeProvider } from './runtime/probe.js';
import { providerChecks } from './runtime/runtime-checks.js';
import { measureTiming, TIMING, type Timing } from './timing.js';

export interface ExamineOptions {
  readonly role: Role;
  readonly device: Provider;
  /** Size of the weights cache that must fit into the device's memory. */
  readonly cacheBytes: number;
  /** Finished share, from 0 to 1, and the next step. */
  readonly onProgress?: (share: number, next: string) => void;
}

/** Checks that try something out; tests substitute recorded answers. */
export interface Trials {
  readonly probe: (provider: Provider) => Promise<Probe>;
  readonly timing: () => Promise<Timing>;
  readonly gpus: (cacheBytes: number | null, cudaWanted: boolean) => Promise<Check[]>;
}

const THIS_MACHINE: Trials = {
  probe: probeProvider,
  timing: () => measureTiming(),
  gpus: (cacheBytes, cudaWanted) => gpuChecks({ run: nvidiaSmi(), cacheBytes, cudaWanted }),
};

/** Examines a machine. Only workers have devices, so other roles skip those checks. Takes seconds. */
export async function examine(
  host: Host,
  { role, device, cacheBytes, onProgress = () => {} }: ExamineOptions,
  trials: Trials = THIS_MACHINE,
): Promise<DoctorReport> {
  const machine = { host, role, device, cacheBytes };
  const checks: Check[] = judge(MACHINE, machine);
  if (role === 'worker') {
    // Must precede the trials of providers, which raise the clocks that these checks read.
    const gpus = await trials.gpus(device === 'cpu' ? null : cacheBytes, device === 'cuda');
    // Sequential, because they would compete for memory and time.
    const probes: Probe[] = [];
    for (const [i, provider] of PROVIDERS.entries()) {
      onProgress((0.5 * i) / PROVIDERS.length, `provider ${provider}`);
      probes.push(await trials.probe(provider));
    }
    checks.push(...judge(WORKER, machine), ...providerChecks(probes, device));
    // A worker on the CPU does not use GPUs, so their checks do not fail it.
    checks.push(...(device === 'cpu' ? gpus.map((check) => ({ ...check, requiredFor: [] })) : gpus));
  }
  onProgress(0.5, 'timing');
  checks.push(...judge(TIMING, await trials.timing()));
  return makeReport({ role, device, cacheBytes, container: isContainer(host) }, checks);
}
