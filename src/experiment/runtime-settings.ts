/** How models are executed live: the section `runtime`, checked. Nothing of it matters to a simulation. */
export interface RuntimeSettings {
  readonly preset: (typeof PRESETS)[number];
  /** Threads of a GPU in which its lanes run models; 1: LOADs and INFERs take turns. */
  readonly laneThreads: number;
  /** Threads of one INFER on the CPU. */
  readonly intraOpThreads: number;
  /** Threads for independent branches of a model; 1: one branch after the other. */
  readonly interOpThreads: number;
  /** Processors of the further threads of an INFER, as onnxruntime writes them: `1;2`; null: any. */
  readonly affinity: string | null;
  /** Share of the device's memory that the weights cache leaves free, below 1. */
  readonly memoryReserve: number;
  readonly arena: boolean;
  readonly memoryPattern: boolean;
  readonly storageBufferCache: (typeof STORAGE_BUFFER_CACHES)[number];
  /** One lane and one thread for everything: the thread counts above are 1 then, whatever was said of them. */
  readonly serial: boolean;
  readonly precision: (typeof RUNTIME_PRECISIONS)[number];
  /** What is recorded from the start on. */
  readonly profiler: (typeof PROFILER_MODES)[number];
  /** Folder of recordings. */
  readonly profilerDir: string;
}

export const PRESETS = ['none', 'min-memory', 'max-parallelism'] as const;
export const STORAGE_BUFFER_CACHES = ['bucket', 'simple', 'lazyRelease', 'disabled'] as const;
export const RUNTIME_PRECISIONS = ['fp32', 'fp16'] as const;
export const PROFILER_MODES = ['off', 'operators', 'all'] as const;

export type RuntimeKey = keyof RuntimeSettings;

/** One key of `runtime` as people see it. */
export interface RuntimeSetting {
  readonly key: RuntimeKey;
  /** Environment variable that sets it where models run. */
  readonly environment: string;
  /** As written in a file. */
  readonly default: string;
  /** Environment variables of MXNet for the same, with commas between; empty where there are none. */
  readonly mxnet: string;
  readonly description: string;
}

const TABLE: Readonly<Record<RuntimeKey, Omit<RuntimeSetting, 'key' | 'environment'>>> = {
  preset: {
    default: 'none',
    mxnet: '',
    description: 'Other defaults: min-memory, max-parallelism or none.',
  },
  laneThreads: {
    default: '8',
    mxnet: 'MXNET_GPU_COPY_NTHREADS',
    description:
      'Threads of a GPU that own its models: a LOAD in one runs beside an INFER in another. 1: they take turns, in one lane.',
  },
  intraOpThreads: {
    default: '1',
    mxnet: 'OMP_NUM_THREADS',
    description: 'Threads of one INFER on the CPU.',
  },
  interOpThreads: {
    default: '1',
    mxnet: 'MXNET_CPU_WORKER_NTHREADS',
    description:
      'Threads in which independent branches of a model run at the same time; 1: one after the other.',
  },
  affinity: {
    default: 'none',
    mxnet: '',
    description:
      'Processors, from 1 on, of each thread of an INFER but its first: 2;3-4 for two of them. none: any.',
  },
  memoryReserve: {
    default: '50%',
    mxnet: 'MXNET_GPU_MEM_POOL_RESERVE',
    description: "Share of the device's memory that the weights cache leaves free.",
  },
  arena: {
    default: 'true',
    mxnet: 'MXNET_CPU_MEM_POOL_TYPE',
    description: 'Memory of tensors on the CPU comes from an arena, which grows and does not shrink.',
  },
  memoryPattern: {
    default: 'true',
    mxnet: '',
    description: 'The tensors of an INFER get one block of memory, planned from earlier INFERs.',
  },
  storageBufferCache: {
    default: 'bucket',
    mxnet: 'MXNET_GPU_MEM_POOL_TYPE',
    description: 'How webgpu keeps buffers for the next INFER: bucket, simple, lazyRelease, disabled.',
  },
  serial: {
    default: 'false',
    mxnet: 'MXNET_ENGINE_TYPE',
    description: 'For debugging: one lane and one thread for everything, whatever the other keys say.',
  },
  precision: {
    default: 'fp32',
    mxnet: '',
    description: 'Which file of each model is used: fp32 or fp16, see model make --precision.',
  },
  profiler: {
    default: 'off',
    mxnet: 'MXNET_PROFILER_AUTOSTART, MXNET_PROFILER_MODE',
    description:
      'What is recorded from the start on: off, operators (lanes, and what onnxruntime does below) or all (requests and decisions, too).',
  },
  profilerDir: { default: 'profiles', mxnet: '', description: 'Folder that recordings are written to.' },
};

/** Every key of `runtime`, in the order of the documentation. */
export const RUNTIME_SETTINGS: readonly RuntimeSetting[] = Object.entries(TABLE).map(([key, setting]) => ({
  key: key as RuntimeKey,
  environment: environmentName(key),
  ...setting,
}));

/** What the key does, for its schema. */
export function describeRuntime(key: RuntimeKey): string {
  return TABLE[key].description;
}

/** `intraOpThreads` is `ESCAPEMENT_INTRA_OP_THREADS`. */
function environmentName(key: string): string {
  return `ESCAPEMENT_${key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}
