import type { InferenceSession } from 'onnxruntime-node';
import { EscapementError } from '../../base/errors.js';
import { type OrtDeviceSpec, PROVIDERS, type Provider } from '../device.js';
import { onnxruntime } from './onnxruntime.js';
import { onnxruntimeReason } from './runtime-problem.js';

/** Version of onnxruntime, which optimized models and measured times depend on. Throws `E_DEVICE` if it is missing. */
export function onnxruntimeVersion(): string {
  return onnxruntime().env.versions.common;
}

/**
 * Opens an onnxruntime session on a device, from a file or from bytes. Blocks this thread. Throws `E_DEVICE` if the
 * device or its driver is missing, and `E_MODEL_FILE` if the model is unusable.
 */
export async function openSession(
  model: string | Uint8Array,
  device: OrtDeviceSpec,
  open: OpenOptions,
): Promise<InferenceSession> {
  const { env, InferenceSession } = onnxruntime();
  checkProvider(device.kind);
  // Relevant errors are thrown. Takes effect only before the first session of the process.
  env.logLevel = 'fatal';
  const options = sessionOptions(device, open);
  try {
    // Two calls, because the types have an overload for each kind of model.
    return await (typeof model === 'string'
      ? InferenceSession.create(model, options)
      : InferenceSession.create(model, options));
  } catch (error) {
    throw sessionProblem(error, device.kind);
  }
}

function checkProvider(kind: Provider): void {
  const present = new Set(
    onnxruntime()
      .listSupportedBackends()
      .map(({ name }) => name),
  );
  if (present.has(kind)) return;
  const names = PROVIDERS.filter((name) => present.has(name));
  const here = `${process.platform}/${process.arch}`;
  throw new EscapementError(
    'E_DEVICE',
    `onnxruntime-node has no provider ${kind} for ${here}: choose one of ${names.join(', ')}`,
  );
}

function sessionProblem(error: unknown, kind: Provider): EscapementError {
  const reason = onnxruntimeReason(error);
  if (/failed to load shared library/i.test(reason)) {
    return new EscapementError(
      'E_DEVICE',
      `${kind} needs libraries that npm does not install by itself: escapement doctor --device ${kind} prints the command that does`,
    );
  }
  if (reason.includes('Unsupported data type: 16'))
    return new EscapementError(
      'E_MODEL_FILE',
      'an input or output is of type bfloat16, which onnxruntime-node cannot pass: let the model cast it to float32',
    );
  if (/WebGPU adapter/.test(reason)) {
    return new EscapementError(
      'E_DEVICE',
      'webgpu finds no GPU: install its driver, on Linux the one for Vulkan and libvulkan1',
    );
  }
  if (/fallback to CPU EP has been explicitly disabled/.test(reason)) {
    return new EscapementError(
      'E_MODEL_FILE',
      `${kind} cannot run all operators of the model: choose another device`,
    );
  }
  return new EscapementError('E_MODEL_FILE', `onnxruntime cannot use the model on ${kind}: ${reason}`);
}

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
