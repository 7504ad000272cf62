/** Executors: an execution provider of onnxruntime, or a simulation of a GPU in real time. */
export const PROVIDERS = ['cpu', 'webgpu', 'cuda', 'dml', 'coreml'] as const;
export type Provider = (typeof PROVIDERS)[number];

export interface OrtDeviceSpec {
  readonly kind: Provider;
  /** Index of the adapter among those known to the provider; ignored if it has only one. */
  readonly adapter: number;
  readonly session: SessionSettings;
}

/** WebGPU strategies for unused tensor buffers. */
export const BUFFER_CACHES = ['bucket', 'simple', 'lazyRelease', 'disabled'] as const;

/** Settings for running models on a device. */
export interface SessionSettings {
  /** Number of threads that own the models: a LOAD in one runs while an INFER runs in another; 1: they take turns. */
  readonly laneThreads: number;
  /** Number of threads per INFER on the CPU. */
  readonly intraOpThreads: number;
  /** Above 1, independent branches of a model run in parallel, in this many threads. */
  readonly interOpThreads: number;
  /** True if memory of tensors comes from an arena that grows and never shrinks. */
  readonly arena: boolean;
  /** True if memory of all tensors of an INFER is planned at once, from the previous run. */
  readonly memoryPattern: boolean;
  readonly storageBufferCache: (typeof BUFFER_CACHES)[number];
}

export const DEFAULT_SESSION: SessionSettings = {
  laneThreads: 8,
  intraOpThreads: 1,
  interOpThreads: 1,
  arena: true,
  memoryPattern: true,
  storageBufferCache: 'bucket',
};

/** Device for reading and optimizing models, whatever device is to run them. */
export const CPU: OrtDeviceSpec = { kind: 'cpu', adapter: 0, session: DEFAULT_SESSION };

/** Takes the time of each model's profile, times `timeScale`; 0: no time. Its outputs are zeros. */
export interface SimulatedDeviceSpec {
  readonly kind: 'simulated';
  readonly timeScale: number;
  /** Its memory in bytes, and the part of it that each LOAD leaks. Absent: unlimited. */
  readonly memory?: { readonly totalBytes: number; readonly leakBytes: number };
}

/** Memory of a device. */
export interface DeviceMemory {
  /** Bytes in use, by any process. */
  readonly usedBytes: number;
  readonly totalBytes: number;
}

export type DeviceSpec = OrtDeviceSpec | SimulatedDeviceSpec;

/** Name of the device for people. */
export function deviceName(device: DeviceSpec): string {
  if (device.kind === 'simulated') return 'simulated';
  if (device.kind !== 'cpu') return `${device.kind} adapter ${device.adapter}`;
  const { intraOpThreads } = device.session;
  return `cpu, ${intraOpThreads} ${intraOpThreads === 1 ? 'thread' : 'threads'}`;
}

/**
 * True if LOADs and INFERs take turns on the device. webgpu tolerates one thread per process, so both kinds of action
 * share one lane there, and the controller books them on one timeline.
 */
export function hasOneLane(device: DeviceSpec): boolean {
  if (device.kind === 'simulated') return false;
  return device.session.laneThreads === 1 || ONE_LANE.includes(device.kind);
}

const ONE_LANE: readonly Provider[] = ['webgpu', 'dml', 'coreml'];
