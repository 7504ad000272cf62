import { ARCHITECTURE_NAMES } from '../../live/models/make/architectures.js';
import { choice, required, text, toggle, wholeOr } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json, precisionFlag } from './common.js';

export const usage = usageOf({
  arguments: {
    architecture: required(
      choice(ARCHITECTURE_NAMES, 'Runs as fast as the trained model; its answers are meaningless'),
    ),
  },
  flags: {
    repository: required(text('FOLDER', 'Model repository to write to')),
    name: text('NAME', 'Name of the model', 'the architecture'),
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
  },
  examples: [
    'model make resnet18 --repository models --input 64',
    'model make resnet18 --repository models --input 64 --precision fp16',
    'model make resnet18 --repository models --input 64 --model-version 2 --seed 2',
    'model make encoder --repository models --input 128',
  ],
});

export type ModelMakeArgs = ArgsOf<typeof usage>;
