import type { Argv } from 'yargs';
import { json, quiet, trustFlags } from '../common-options.js';
import { type ArgsOf, duration, durationOr, group, list, size, text, whole } from '../options.js';
import { cacheFlags, deviceFlags, runtimeFlags } from '../server-options.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('path', text('Model repository, or one model (.onnx); or give --url'))
    .options({
      ...group('Measurement', {
        model: list('Measure only this model of the repository or server'),
        'batch-sizes': text('Batch sizes, e.g. 1,2,4,8', 'those of the model'),
        runs: whole(1, 'INFERs at each batch size', 'until their figures are stable'),
        budget: durationOr('3s', 'Time for each model, unless --runs is given'),
      }),
      ...group('Server', {
        url: text(
          'Measure the models of this running server as a client: http://HOST:PORT or grpc://HOST:PORT; https:// or grpcs:// for TLS',
        ),
        payload: text(
          'Real inputs for --url, one row: a .json, .npy or raw file, or a folder with one per model',
          'random, or texts',
        ),
        'token-file': text('File with the token that the server requires'),
        weights: size(
          "Bytes of a model's weights, which a client cannot see",
          'next to none: it stays loaded',
        ),
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
          'Profile to write, for one model',
          'profile.DEVICE.json next to the model or in --cache-dir; with --url NAME.profile.json',
        ),
        quiet,
      }),
    })
    .example([
      ['$0 profile measure models --device cpu', ''],
      ['$0 profile measure --url http://127.0.0.1:8000 --model resnet50 --batch-sizes 1,2,4,8', ''],
    ])
    .epilogue(
      '--url works with any server of the Open Inference Protocol. It sends one request at a time, as large as a batch, and ' +
        'subtracts the round trip of the network. Nothing else should use the server meanwhile. Flags of models, GPUs and ' +
        'settings here do not apply.',
    );

export type ProfileMeasureArgs = ArgsOf<typeof builder>;

export const profileMeasure = {
  command: 'measure [path]',
  describe: 'Measure the latencies of models and write their profiles',
  builder,
};
