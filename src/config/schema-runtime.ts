import * as z from 'zod';
import type { Immutable } from '../base/immutable.js';
import { NS_PER_MS } from '../base/units.js';
import { choice, duration, flag, section, share, whole } from './fields.js';

/** Devices of live mode: a provider of onnxruntime, or a simulation of a GPU in real time. */
export const LIVE_DEVICES = ['cpu', 'webgpu', 'cuda', 'dml', 'coreml', 'simulated'] as const;

export type LiveDevice = (typeof LIVE_DEVICES)[number];

export const liveSchema = section({
  device: choice(
    `Device that executes the models: ${LIVE_DEVICES.join(', ')}. Default: cpu if any model is onnx, else simulated.`,
    LIVE_DEVICES,
  ).exactOptional(),
  timeScale: z
    .number()
    .min(0)
    .default(1)
    .describe('Factor on the durations of simulated devices; 0: they take no time.'),
});

export const STORAGE_BUFFER_CACHES = ['bucket', 'simple', 'lazyRelease', 'disabled'] as const;
export const RUNTIME_PRECISIONS = ['fp32', 'fp16'] as const;

/** A device with less left would have no room for inputs, outputs and the tensors between them. */
const MOST_RESERVE = 0.99;

/**
 * Every key of `runtime`, with its default and purpose: the execution of models in live mode. Simulations ignore it.
 */
export const runtimeKeys = section({
  laneThreads: whole(
    'Threads of a GPU that own its models: a LOAD in one runs in parallel with an INFER in another; 1: they take turns.',
    1,
  ).default(8),
  intraOpThreads: whole('Threads of one INFER on the CPU.', 1).default(1),
  interOpThreads: whole('Threads for independent branches of a model.', 1).default(1),
  memoryReserve: share(
    "Share of the device's memory that the weights cache leaves free.",
    MOST_RESERVE,
  ).prefault('50%'),
  memoryLeak: share(
    "Share of a GPU's memory that may be in use beyond its loaded models and its use at the start, before the GPU is restarted. Only with cuda.",
    1,
  ).prefault('20%'),
  arena: flag('Allocate tensors on the CPU from an arena, which grows and does not shrink.').default(true),
  memoryPattern: flag('Plan one block of memory for the tensors of an INFER from earlier ones.').default(
    true,
  ),
  storageBufferCache: choice(
    'Strategy of webgpu for reusing buffers: bucket, simple, lazyRelease, disabled.',
    STORAGE_BUFFER_CACHES,
  ).default('bucket'),
  precision: choice(
    'Which file of each model is used: fp32 or fp16, see model make --precision.',
    RUNTIME_PRECISIONS,
  ).default('fp32'),
  prepareLimit: duration(
    'Longest time for one step of preparing a model, such as reading it; a model that exceeds it is not served.',
    NS_PER_MS,
  ).prefault('30s'),
});

/** The section `runtime`, checked; `memoryReserve` is a share below 1. */
export interface RuntimeSettings extends Immutable<z.output<typeof runtimeKeys>> {}
export type RuntimeKey = keyof RuntimeSettings;

/** The section `runtime`. */
export const runtimeSchema = runtimeKeys.prefault({});
