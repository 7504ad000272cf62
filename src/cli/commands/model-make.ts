import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Argv } from 'yargs';
import { EscapementError } from '../../base/errors.js';
import { checkWritable, writeWhole } from '../../base/files/output-file.js';
import { formatBytes, formatCount } from '../../config/units-text.js';
import { ARCHITECTURE_NAMES } from '../../live/models/make/architectures.js';
import { modelFile } from '../../live/models/precision.js';
import { writeOut } from '../../text/terminal.js';
import { json, precisionFlag } from '../common-options.js';
import { type ArgsOf, group, required, text, toggle, usageError, wholeOr } from '../options.js';

export const builder = (yargs: Argv) =>
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

/** `escapement model make ARCHITECTURE`: a real architecture with random weights, to try things out. */
export async function handler(args: ArgsOf<typeof builder>): Promise<void> {
  const { makeModel } = await import('../../live/models/make/make-model.js');
  const name = modelName(args.name ?? args.architecture);
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
  writeOut(
    args.json
      ? `${JSON.stringify({ path, parameters, bytes: onnx.length, settings: written })}\n`
      : `${formatCount(parameters)} parameters, ${formatBytes(onnx.length)} written to ${path}\n` +
          (written === null ? '' : `its lengths, and how they are padded, written to ${written}\n`),
  );
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
  throw usageError(`--name ${name}: must consist of letters, digits, ".", "_" and "-"`);
}
