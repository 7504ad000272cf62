import { RUNTIME_SETTINGS } from './runtime-settings.js';

/** What became of a setting of MXNet. */
interface MxnetVariable {
  readonly variable: string;
  /** Key of `runtime`; null: there is none. */
  readonly key: string | null;
  /** How the two differ, or why there is none. */
  readonly remark: string;
}

/** How our key differs from MXNet's variable, where the name alone would mislead. */
const REMARKS: Readonly<Record<string, string>> = {
  OMP_NUM_THREADS: 'onnxruntime has its own threads and ignores this variable',
  MXNET_CPU_WORKER_NTHREADS: 'operators at a time; only models with branches have any',
  MXNET_GPU_COPY_NTHREADS: 'LOADs take turns; the threads let one run during an INFER',
  MXNET_GPU_MEM_POOL_RESERVE:
    'MXNet keeps 5 % free, here it is half, as inputs and outputs are not in the cache',
  MXNET_CPU_MEM_POOL_TYPE: 'Unpooled is false',
  MXNET_GPU_MEM_POOL_TYPE: 'Naive is simple, Round is bucket, Unpooled is disabled; webgpu only',
  MXNET_ENGINE_TYPE: 'NaiveEngine is true, the others are false',
  MXNET_PROFILER_AUTOSTART: '1 is operators or all',
  MXNET_PROFILER_MODE: 'a sum of bits there; memory and API calls are not recorded here',
};

/** Settings of MXNet that escapement does not have, with the reason. */
const WITHOUT_KEY: Readonly<Record<string, string>> = {
  MXNET_GPU_WORKER_NTHREADS:
    'one INFER at a time runs on a GPU: several would make each other late, unpredictably',
  MXNET_GPU_WORKER_NSTREAMS: 'likewise: INFERs do not run in parallel',
  MXNET_CPU_PRIORITY_NTHREADS: 'the scheduler decides what comes first, before anything reaches a thread',
  MXNET_EXEC_BULK_EXEC_INFERENCE: 'onnxruntime always runs a model as a whole',
  MXNET_EXEC_NUM_TEMP: 'onnxruntime plans the memory of an INFER by itself; see memoryPattern',
  MXNET_CUDNN_AUTOTUNE_DEFAULT:
    'onnxruntime chooses algorithms itself, and a LOAD runs every batch size once, so that it has chosen',
  MXNET_USE_FUSION: 'operators are fused when a model is optimised: model optimize',
};

/** MXNet's variables, those with a counterpart first. */
export const MXNET_VARIABLES: readonly MxnetVariable[] = [
  ...RUNTIME_SETTINGS.flatMap(({ key, mxnet }) =>
    mxnet === ''
      ? []
      : mxnet.split(', ').map((variable) => ({
          variable,
          key: `runtime.${key}`,
          remark: REMARKS[variable] ?? '',
        })),
  ),
  ...Object.entries(WITHOUT_KEY).map(([variable, remark]) => ({ variable, key: null, remark })),
];
