/** What executes: an execution provider of onnxruntime, or a simulation of a GPU in real time. */
export const PROVIDERS = ['cpu', 'webgpu', 'cuda', 'dml', 'coreml'] as const;
export type Provider = (typeof PROVIDERS)[number];

export interface OrtDeviceSpec {
  readonly kind: Provider;
  /** Index of the adapter among those that the provider knows; ignored where it knows one only. */
  readonly adapter: number;
  /** Threads that one INFER uses on the CPU. */
  readonly intraOpThreads: number;
}

/** Takes as long as each model's profile says, times `timeScale`; 0: no time at all. Its outputs are zeros. */
export interface SimulatedDeviceSpec {
  readonly kind: 'simulated';
  readonly timeScale: number;
}

export type DeviceSpec = OrtDeviceSpec | SimulatedDeviceSpec;

/**
 * Whether the device runs a LOAD beside an INFER. webgpu tolerates one thread in a process, so both kinds of
 * action share one lane there, and the controller books them on one timeline.
 */
export function hasOneLane(device: DeviceSpec): boolean {
  return device.kind === 'webgpu' || device.kind === 'dml' || device.kind === 'coreml';
}
