import * as z from 'zod';
import { section } from './fields.js';

/** What can execute models in live mode: a provider of onnxruntime, or a simulation of a GPU in real time. */
export const LIVE_DEVICES = ['cpu', 'webgpu', 'cuda', 'dml', 'coreml', 'simulated'] as const;

export const liveSchema = section({
  device: z
    .enum(LIVE_DEVICES)
    .exactOptional()
    .describe(
      `What executes the models: ${LIVE_DEVICES.join(', ')}. Absent: cpu where one of them is onnx, else simulated.`,
    ),
  timeScale: z
    .number()
    .min(0)
    .default(1)
    .describe('How many times as long as its profile says a simulated device takes; 0: no time at all.'),
});
