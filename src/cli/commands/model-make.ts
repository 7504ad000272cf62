import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { checkWritable, writeWhole } from '../../base/files/output-file.js';
import { formatBytes, formatCount } from '../../config/units-text.js';
import { ARCHITECTURE_NAMES } from '../../live/models/make/architectures.js';
import { modelFile } from '../../live/models/precision.js';
import { json, precisionFlag, print } from '../common-options.js';
import { choice, group, option, required, text, toggle, type ValuesOf, whole } from '../options.js';

export const flags = {
  architecture: required(
    choice(ARCHITECTURE_NAMES)('Runs as fast as the trained model; its answers are meaningless'),
  ),
  ...group('Options', {
    repository: required(text('Model repository to write to')),
    name: option(modelName)('Name of the model', 'the architecture'),
    'model-version': whole(0).or(1, 'Version of the model'),
    input: whole(1).or(
      224,
      'Image size in pixels; for mlp, the number of features; for encoder, the most tokens',
    ),
    classes: whole(1).or(1000, 'Number of output classes'),
    seed: whole(0).or(1, 'Seed of the weights'),
    precision: precisionFlag,
    json,
    force: toggle('Replace a model of that name, version and precision'),
  }),
};
export const examples = [
  'model make resnet18 --repository models --input 64',
  'model make resnet18 --repository models --input 64 --precision fp16',
  'model make resnet18 --repository models --input 64 --model-version 2 --seed 2',
  'model make encoder --repository models --input 128',
];

/** `escapement model make ARCHITECTURE`: a real architecture with random weights, to try things out. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { makeModel } = await import('../../live/models/make/make-model.js');
  const name = args.name ?? args.architecture;
  const { precision } = args;
  const path = modelFile(join(args.repository, name, String(args['model-version'])), precision);
  if (existsSync(path) && !args.force) {
    throw new EscapementError('E_FILE_WRITE', 'already exists; --force replaces it', { file: path });
  }
  checkWritable(path);
  const { onnx, parameters, settings } = makeModel(args.architecture, {
    input: args.input,
    classes: args.classes,
    seed: args.seed,
    precision,
  });
  writeWhole(path, onnx);
  const written =
    settings === null ? null : writeSettings(join(args.repository, name, 'config.yaml'), settings);
  const lengths = written === null ? '' : `its lengths, and how they are padded, written to ${written}\n`;
  const what = `${formatCount(parameters)} parameters, ${formatBytes(onnx.length)} written to ${path}\n`;
  print(args, { path, parameters, bytes: onnx.length, settings: written }, () => what + lengths);
}

/** Returns the path; null if the file exists, which is kept. */
function writeSettings(path: string, settings: string): string | null {
  if (existsSync(path)) return null;
  writeWhole(path, settings);
  return path;
}

/** A name usable as a folder and in a URL. */
function modelName(name: string): string {
  if (/^[A-Za-z0-9][\w.-]*$/.test(name)) return name;
  throw new Error('must consist of letters, digits, ".", "_" and "-"');
}
