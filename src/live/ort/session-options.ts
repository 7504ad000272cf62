import type { InferenceSession } from 'onnxruntime-node';
import type { OrtDeviceSpec } from '../device.js';

export interface OpenOptions {
  readonly level: 'disabled' | 'basic' | 'extended' | 'all';
  /** Path for saving the optimized model. */
  readonly savePath?: string;
  /** Configuration entries `session.*` of onnxruntime. */
  readonly config?: Readonly<Record<string, string>>;
}

/** A device and its settings as options of onnxruntime. */
export function sessionOptions(
  device: OrtDeviceSpec,
  { level, savePath, config = {} }: OpenOptions,
): InferenceSession.SessionOptions {
  const { intraOpThreads, interOpThreads, arena, memoryPattern } = device.session;
  const entries = {
    ...config,
    // Otherwise nodes that the device cannot run would silently run on the CPU.
    ...(device.kind === 'cpu' ? {} : { disable_cpu_ep_fallback: '1' }),
    // Otherwise weights are in the session's arena, which rounds them up and keeps what they leave.
    ...(device.kind === 'cuda' ? { use_device_allocator_for_initializers: '1' } : {}),
  };
  return {
    executionProviders: [executionProvider(device)],
    // In sequential mode a second thread for branches would be idle.
    executionMode: interOpThreads > 1 ? 'parallel' : 'sequential',
    intraOpNumThreads: intraOpThreads,
    interOpNumThreads: interOpThreads,
    enableCpuMemArena: arena,
    enableMemPattern: memoryPattern,
    graphOptimizationLevel: level,
    logSeverityLevel: 4,
    ...(savePath === undefined ? {} : { optimizedModelFilePath: savePath }),
    extra: { session: entries },
  };
}

/** Only cuda and dml select a device by its index; webgpu rejects it. */
function executionProvider({
  kind,
  adapter,
  session,
}: OrtDeviceSpec): InferenceSession.ExecutionProviderConfig {
  if (kind === 'cuda' || kind === 'dml') return { name: kind, deviceId: adapter };
  return kind === 'webgpu' ? { name: kind, storageBufferCacheMode: session.storageBufferCache } : kind;
}
