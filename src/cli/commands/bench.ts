import type { Argv } from 'yargs';
import { PROVIDERS } from '../../live/device.js';
import { json, plugin, quiet } from '../common-options.js';
import {
  type ArgsOf,
  choice,
  choiceOr,
  durationOr,
  group,
  list,
  text,
  toggle,
  whole,
  wholeOr,
} from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .options({
      ...group('Subject', {
        repository: text('Models to measure, as NAME/VERSION/model.onnx'),
        experiment: text('Experiment file: its settings; without --repository also its models and their mix'),
        device: text(
          `Execution provider: ${PROVIDERS.join(', ')}; with --scaling also simulated:PROFILE`,
          'cpu, or live.device of the experiment',
        ),
        adapter: wholeOr(0, 0, 'Index of the GPU, where the provider can choose one'),
        set: list('Override a setting, e.g. runtime.intraOpThreads=2 or slo=1s'),
        plugin,
      }),
      ...group('Measurement', {
        vary: text(
          'Repeat everything for each value of a key, e.g. runtime.intraOpThreads=1,2; batchSize=1,2,4 fixes the batch',
        ),
        protocol: choiceOr(['http', 'grpc'], 'http', 'Protocol of the clients'),
        remote: toggle('Also measure IO with the GPU in a worker process'),
        concurrency: whole(1, 'Closed-loop clients', 'two full batches of each model, at least 16'),
        trials: whole(1, 'Trials of each stage', '6; 3 with --scaling'),
        duration: durationOr('2s', 'Length of a trial, after a warm-up'),
      }),
      ...group('Scaling', {
        scaling: choice(
          ['strong', 'weak', 'both'],
          'Measure how requests/s grow with GPUs: with the same clients (strong), or the same per GPU (weak)',
        ),
        gpus: text('Numbers of GPUs; the smallest is the baseline', '1,2,4'),
        emulate: toggle("Emulate GPUs by the times of the models' profiles"),
        tensors: choiceOr(
          ['real', 'none'],
          'real',
          'With emulated GPUs: tensors of their real sizes, or none, which leaves the scheduler',
        ),
      }),
      ...group('Output', {
        json,
        out: text('Folder for the result as JSON'),
        quiet,
      }),
    })
    .example([
      ['$0 bench --repository models', ''],
      ['$0 bench --repository models --vary runtime.intraOpThreads=1,2,4 --out out/bench', ''],
      ['$0 bench --scaling both --gpus 1,2,4,8 --device simulated:PROFILE.json', ''],
    ])
    .epilogue(
      [
        'Stages, one after the other, with the same models, tensors and mix:\n' +
          '  IO         frontend, decoding, scheduler, transport; the device takes no time\n' +
          '  SYNTHETIC  the device alone, full batches back to back\n' +
          '  FULL       the whole server on the device',
        'The clients are closed loops in this process; the result says how busy it was, since saturated clients measure ' +
          'themselves. ± is the spread of the trials. --vary runs through the values and back, half of the trials each ' +
          'way, so that a machine that slows down favors none.',
        '--scaling runs clients, controller and GPUs in one process, in real time:\n' +
          '  strong  the same models and clients for any number of GPUs\n' +
          '  weak    as many models and clients per GPU\n' +
          'Efficiency is requests/s per GPU, relative to the fewest GPUs.',
      ].join('\n\n'),
    );

export type BenchArgs = ArgsOf<typeof builder>;

export const bench = {
  command: 'bench',
  describe: 'Find the bottleneck of a server, or how it scales with GPUs',
  builder,
};
