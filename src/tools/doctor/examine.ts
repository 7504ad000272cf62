import type { ConnectionOptions } from 'node:tls';
import { PROVIDERS, type Provider } from '../../live/device.js';
import { cgroupChecks } from './cgroup.js';
import type { Check, Role } from './check.js';
import { clockChecks } from './clock/clock-checks.js';
import { measurePeerClock } from './clock/peer-clock.js';
import { cpuChecks } from './cpu.js';
import { environmentChecks, hasCudaDriver } from './environment.js';
import { gpuChecks } from './gpu/gpu-checks.js';
import { nvidiaSmi } from './gpu/run.js';
import { type Host, isContainer } from './host.js';
import { limitsChecks } from './limits.js';
import { memoryCheck } from './memory.js';
import { type DoctorReport, makeReport } from './report.js';
import { type Probe, probeProvider } from './runtime/probe.js';
import { nodeCheck, providerChecks } from './runtime/runtime-checks.js';
import { vulkanCheck } from './runtime/vulkan.js';
import { measureTiming, type Timing } from './timing/timing.js';
import { timingChecks } from './timing/timing-checks.js';

export interface ExamineOptions {
  readonly role: Role;
  readonly device: Provider;
  /** Size of the weights cache that has to fit into the device's memory. */
  readonly cacheBytes: number;
  /** `http://HOST:PORT` of other escapements' metrics ports. */
  readonly peers: readonly string[];
  /** What they ask for; null or absent: nothing. */
  readonly token?: string | null;
  /** What their certificates are checked against. Default: the system's authorities. */
  readonly trust?: Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized'>;
  /** From 0 to 1, and what comes next. */
  readonly onProgress?: (share: number, next: string) => void;
}

/** What is tried rather than read; tests put recorded answers in its place. */
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

/** Examines a machine. Only workers have devices: other roles are not asked about them. Takes seconds. */
export async function examine(
  host: Host,
  { role, device, cacheBytes, peers, token = null, trust = {}, onProgress = () => {} }: ExamineOptions,
  trials: Trials = THIS_MACHINE,
): Promise<DoctorReport> {
  const cudaWanted = device === 'cuda';
  const hasCache = role === 'worker' && device === 'cpu';
  const checks: Check[] = [...limitsChecks(host), ...cgroupChecks(host, hasCache ? cacheBytes : null)];
  if (role === 'worker') checks.push(...environmentChecks(host, cudaWanted || hasCudaDriver(host)));
  checks.push(...cpuChecks(host), nodeCheck(host));
  if (role === 'worker') {
    // Before the providers are tried: that raises the clocks that these checks read.
    const gpus = await trials.gpus(device === 'cpu' ? null : cacheBytes, cudaWanted);
    // One after the other: they would take each other's memory and time.
    const probes: Probe[] = [];
    for (const [i, provider] of PROVIDERS.entries()) {
      onProgress((0.5 * i) / PROVIDERS.length, `provider ${provider}`);
      probes.push(await trials.probe(provider));
    }
    checks.push(...providerChecks(probes, device), vulkanCheck(host, device));
    if (!cudaWanted) checks.push(memoryCheck(host, device, cacheBytes));
    // A worker on the CPU does not use GPUs, so their checks do not fail it.
    checks.push(...(device === 'cpu' ? gpus.map((check) => ({ ...check, requiredFor: [] })) : gpus));
  }
  onProgress(0.5, 'timing');
  checks.push(...timingChecks(await trials.timing()));
  for (const [i, peer] of peers.entries()) {
    onProgress(0.9 + (0.1 * i) / peers.length, peer);
    checks.push(...clockChecks(peer, await measurePeerClock(peer, token, trust).catch(reasonOf)));
  }
  return makeReport({ role, device, cacheBytes, container: isContainer(host) }, checks);
}

function reasonOf(error: Error): { readonly reason: string } {
  return { reason: error.message };
}
