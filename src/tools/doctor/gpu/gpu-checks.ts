import type { Check } from '../check.js';
import { clockChecks } from './clock-checks.js';
import { driverCheck } from './driver-check.js';
import { healthChecks } from './health-checks.js';
import { modeChecks } from './mode-checks.js';
import { type Answer, queryGpus } from './query.js';
import { roomChecks } from './room-checks.js';
import type { Run } from './run.js';

interface GpuWishes {
  /** Size of the weights cache that each GPU is to hold; null: none is configured. */
  readonly cacheBytes: number | null;
  /** The GPUs are to run the models, so that a machine without a driver will not do. */
  readonly cudaWanted: boolean;
}

/** Whether the NVIDIA driver answers, and of each of its GPUs whether it is set up for predictable latency. */
export async function gpuChecks({ run, ...wishes }: GpuWishes & { readonly run: Run }): Promise<Check[]> {
  return judgeGpus(await queryGpus(run), wishes);
}

function judgeGpus(answer: Answer, { cacheBytes, cudaWanted }: GpuWishes): Check[] {
  const gpus = answer.kind === 'gpus' ? answer.gpus : [];
  return [
    driverCheck(answer, cudaWanted),
    ...gpus.flatMap((gpu) => [
      ...modeChecks(gpu),
      ...clockChecks(gpu),
      ...healthChecks(gpu),
      ...roomChecks(gpu, cacheBytes),
    ]),
  ];
}
