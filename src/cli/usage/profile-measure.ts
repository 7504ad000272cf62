import { group, required, text, whole } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json, quiet } from './common.js';
import { deviceFlags, runtimeFlags } from './server.js';

export const usage = usageOf({
  arguments: { path: required(text('PATH', 'Model repository, or one model (.onnx)')) },
  flags: {
    ...group('Measurement', {
      model: text('NAME', 'Measure only this model of the repository'),
      'batch-sizes': text('NUMBERS', 'Batch sizes, e.g. 1,2,4,8', 'those of the model'),
      runs: whole(1, 'INFERs at each batch size', 'as many as 2 s allow, at least 30'),
    }),
    ...deviceFlags,
    ...runtimeFlags,
    ...group('Output', {
      json,
      out: text('FILE', 'Profile to write, for one model', 'profile.DEVICE.json next to the model'),
      quiet,
    }),
  },
  examples: ['profile measure models --device cpu'],
});

export type ProfileMeasureArgs = ArgsOf<typeof usage>;
