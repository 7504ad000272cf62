import * as z from 'zod';
import { type RuntimeKey, runtimeKeys } from './schema-runtime.js';

/** One key of `runtime` as people see it. */
interface RuntimeSetting {
  readonly key: RuntimeKey;
  /** Environment variable that sets it where models run. */
  readonly environment: string;
  /** As written in a file. */
  readonly default: string;
  /** Environment variables of MXNet for the same, with commas between; empty where there are none. */
  readonly mxnet: string;
  readonly description: string;
}

const MXNET: Partial<Readonly<Record<RuntimeKey, string>>> = {
  laneThreads: 'MXNET_GPU_COPY_NTHREADS',
  intraOpThreads: 'OMP_NUM_THREADS',
  interOpThreads: 'MXNET_CPU_WORKER_NTHREADS',
  memoryReserve: 'MXNET_GPU_MEM_POOL_RESERVE',
  arena: 'MXNET_CPU_MEM_POOL_TYPE',
  storageBufferCache: 'MXNET_GPU_MEM_POOL_TYPE',
  serial: 'MXNET_ENGINE_TYPE',
  recording: 'MXNET_PROFILER_AUTOSTART, MXNET_PROFILER_MODE',
};

/** Every key of `runtime`, in the order of the documentation. */
export const RUNTIME_SETTINGS: readonly RuntimeSetting[] = Object.entries(
  z.toJSONSchema(runtimeKeys, { io: 'input' }).properties as Record<string, z.core.JSONSchema.BaseSchema>,
).map(([name, field]) => {
  const key = name as RuntimeKey;
  return {
    key,
    environment: environmentName(key),
    default: String(field.default),
    mxnet: MXNET[key] ?? '',
    description: field.description ?? '',
  };
});

/** `intraOpThreads` is `ESCAPEMENT_INTRA_OP_THREADS`. */
function environmentName(key: string): string {
  return `ESCAPEMENT_${key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}
