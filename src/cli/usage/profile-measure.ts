import { durationOr, group, required, text, whole } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json, quiet } from './common.js';
import { cacheFlags, deviceFlags, runtimeFlags } from './server.js';

export const usage = usageOf({
  arguments: { path: required(text('PATH', 'Model repository, or one model (.onnx)')) },
  flags: {
    ...group('Measurement', {
      model: text('NAME', 'Measure only this model of the repository'),
      'batch-sizes': text('NUMBERS', 'Batch sizes, e.g. 1,2,4,8', 'those of the model'),
      runs: whole(1, 'INFERs at each batch size', 'until their figures are stable'),
      budget: durationOr('3s', 'Time for each model, unless --runs is given'),
    }),
    ...deviceFlags,
    ...cacheFlags,
    ...runtimeFlags,
    ...group('Output', {
      json,
      out: text(
        'FILE',
        'Profile to write, for one model',
        'profile.DEVICE.json next to the model or in --cache-dir',
      ),
      quiet,
    }),
  },
  examples: ['profile measure models --device cpu'],
});

export type ProfileMeasureArgs = ArgsOf<typeof usage>;
