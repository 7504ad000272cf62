import { cpus } from 'node:os';
import { usableCores } from '../base/limits/usable.js';
import type { Experiment } from '../config/experiment.js';
import type { RunOrigin } from '../record/results.js';
import { packageVersion } from './version.js';

/** What a simulated run depends on besides its experiment. */
export function simulatedOrigin(): RunOrigin {
  return { escapement: packageVersion() };
}

/** What a live run depends on besides its experiment: devices, this machine and what runs on it. */
export async function liveOrigin({ live, cluster }: Experiment): Promise<RunOrigin> {
  const { device } = live;
  const real = device !== 'simulated';
  const gpus = `${cluster.gpus} simulated GPU${cluster.gpus === 1 ? '' : 's'} in real time`;
  return {
    escapement: packageVersion(),
    devices: real ? `${cluster.gpus} × ${device}` : gpus,
    environment: {
      ...environment(),
      ...(real ? { onnxruntime: (await import('../live/ort/open-session.js')).onnxruntimeVersion() } : {}),
    },
  };
}

/** What a load depends on besides its experiment: the server, and how it was asked. */
export function loadOrigin(url: string, flags: readonly string[]): RunOrigin {
  return { escapement: packageVersion(), url, flags, environment: environment() };
}

function environment(): Readonly<Record<string, string>> {
  const model = cpus()[0]?.model.trim() ?? 'unknown';
  return { Node: process.versions.node, Machine: `${usableCores()} × ${model}` };
}
