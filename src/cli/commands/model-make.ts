import type { Argv } from 'yargs';
import { ARCHITECTURE_NAMES } from '../../live/models/make/architectures.js';
import { json, precisionFlag } from '../common-options.js';
import { type ArgsOf, group, required, text, toggle, wholeOr } from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('architecture', {
      choices: ARCHITECTURE_NAMES,
      describe: 'Runs as fast as the trained model; its answers are meaningless',
      demandOption: true,
    })
    .options(
      group('Options', {
        repository: required(text('Model repository to write to')),
        name: text('Name of the model', 'the architecture'),
        'model-version': wholeOr(0, 1, 'Version of the model'),
        input: wholeOr(
          1,
          224,
          'Image size in pixels; for mlp, the number of features; for encoder, the most tokens',
        ),
        classes: wholeOr(1, 1000, 'Number of output classes'),
        seed: wholeOr(0, 1, 'Seed of the weights'),
        precision: precisionFlag,
        json,
        force: toggle('Replace a model of that name, version and precision'),
      }),
    )
    .example([
      ['$0 model make resnet18 --repository models --input 64', ''],
      ['$0 model make resnet18 --repository models --input 64 --precision fp16', ''],
      ['$0 model make resnet18 --repository models --input 64 --model-version 2 --seed 2', ''],
      ['$0 model make encoder --repository models --input 128', ''],
    ]);

export type ModelMakeArgs = ArgsOf<typeof builder>;

export const modelMake = {
  command: 'make <architecture>',
  describe: 'Write a model with random weights, to try things out',
  builder,
};
