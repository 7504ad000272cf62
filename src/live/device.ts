/** What executes: an execution provider of onnxruntime, or a simulation of a GPU in real time. */
export const PROVIDERS = ['cpu', 'webgpu', 'cuda', 'dml', 'coreml'] as const;
export type Provider = (typeof PROVIDERS)[number];

export interface OrtDeviceSpec {
  readonly kind: Provider;
  /** Index of the adapter among those that the provider knows; ignored where it knows one only. */
  readonly adapter: number;
  readonly session: SessionSettings;
}

/** How WebGPU keeps the buffers of tensors that are not needed any more. */
export const BUFFER_CACHES = ['bucket', 'simple', 'lazyRelease', 'disabled'] as const;

/** How the models of a device are run. */
export interface SessionSettings {
  /** Threads that own the models: a LOAD in one runs at the same time as an INFER in another; 1: they take turns. */
  readonly laneThreads: number;
  /** Threads that one INFER uses on the CPU. */
  readonly intraOpThreads: number;
  /** Above 1 independent branches of a model run at the same time, in so many threads. */
  readonly interOpThreads: number;
  /** Processors of each thread of an INFER but the first, as onnxruntime writes them: `1;2`; null: any. */
  readonly affinity: string | null;
  /** Memory of tensors comes from an arena that grows and does not shrink. */
  readonly arena: boolean;
  /** Memory of all tensors of an INFER is planned at once, from the run before. */
  readonly memoryPattern: boolean;
  readonly storageBufferCache: (typeof BUFFER_CACHES)[number];
}

export const DEFAULT_SESSION: SessionSettings = {
  laneThreads: 8,
  intraOpThreads: 1,
  interOpThreads: 1,
  affinity: null,
  arena: true,
  memoryPattern: true,
  storageBufferCache: 'bucket',
};

/** Takes as long as each model's profile says, times `timeScale`; 0: no time at all. Its outputs are zeros. */
export interface SimulatedDeviceSpec {
  readonly kind: 'simulated';
  readonly timeScale: number;
}

export type DeviceSpec = OrtDeviceSpec | SimulatedDeviceSpec;

/** Names the device for people. */
export function deviceName(device: DeviceSpec): string {
  if (device.kind === 'simulated') return 'simulated';
  if (device.kind !== 'cpu') return `${device.kind} adapter ${device.adapter}`;
  const { intraOpThreads } = device.session;
  return `cpu, ${intraOpThreads} ${intraOpThreads === 1 ? 'thread' : 'threads'}`;
}

/**
 * Whether LOADs and INFERs take turns on the device. webgpu tolerates one thread in a process, so both kinds of
 * action share one lane there, and the controller books them on one timeline.
 */
export function hasOneLane(device: DeviceSpec): boolean {
  if (device.kind === 'simulated') return false;
  return device.session.laneThreads === 1 || ONE_LANE.includes(device.kind);
}

const ONE_LANE: readonly Provider[] = ['webgpu', 'dml', 'coreml'];
