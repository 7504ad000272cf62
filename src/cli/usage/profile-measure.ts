import { duration, durationOr, group, list, size, text, whole } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json, quiet, trustFlags } from './common.js';
import { cacheFlags, deviceFlags, runtimeFlags } from './server.js';

export const usage = usageOf({
  arguments: { path: text('PATH', 'Model repository, or one model (.onnx); or give --url') },
  flags: {
    ...group('Measurement', {
      model: list('NAME', 'Measure only this model of the repository or server'),
      'batch-sizes': text('NUMBERS', 'Batch sizes, e.g. 1,2,4,8', 'those of the model'),
      runs: whole(1, 'INFERs at each batch size', 'until their figures are stable'),
      budget: durationOr('3s', 'Time for each model, unless --runs is given'),
    }),
    ...group('Server', {
      url: text(
        'URL',
        'Measure the models of this running server as a client: http://HOST:PORT or grpc://HOST:PORT; https:// or grpcs:// for TLS',
      ),
      'token-file': text('FILE', 'File with the token that the server requires'),
      weights: size("Bytes of a model's weights, which a client cannot see", 'next to none: it stays loaded'),
      'load-time': duration(
        'Time to load a model, which a client cannot see',
        'next to none: it stays loaded',
      ),
    }),
    ...trustFlags,
    ...deviceFlags,
    ...cacheFlags,
    ...runtimeFlags,
    ...group('Output', {
      json,
      out: text(
        'FILE',
        'Profile to write, for one model',
        'profile.DEVICE.json next to the model or in --cache-dir; with --url NAME.profile.json',
      ),
      quiet,
    }),
  },
  examples: [
    'profile measure models --device cpu',
    'profile measure --url http://127.0.0.1:8000 --model resnet50 --batch-sizes 1,2,4,8',
  ],
  notes: [
    '--url works with any server of the Open Inference Protocol. It sends one request at a time, as large as a batch, and ' +
      'subtracts the round trip of the network. Nothing else should use the server meanwhile. Flags of models, GPUs and ' +
      'settings here do not apply.',
  ],
});

export type ProfileMeasureArgs = ArgsOf<typeof usage>;
