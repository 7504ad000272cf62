import * as z from 'zod';
import { section } from './fields.js';

/** What can execute models in live mode: a provider of onnxruntime, or a simulation of a GPU in real time. */
export const LIVE_DEVICES = ['cpu', 'webgpu', 'cuda', 'dml', 'coreml', 'simulated'] as const;

export type LiveDevice = (typeof LIVE_DEVICES)[number];

export const liveSchema = section({
  device: z
    .enum(LIVE_DEVICES)
    .exactOptional()
    .describe(
      `What executes the models: ${LIVE_DEVICES.join(', ')}. Default: cpu if any model is onnx, else simulated.`,
    ),
  timeScale: z
    .number()
    .min(0)
    .default(1)
    .describe('Factor on the durations of simulated devices; 0: they take no time.'),
});
