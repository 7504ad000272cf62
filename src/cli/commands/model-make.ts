import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import { formatBytes, formatCount } from '../../experiment/units-text.js';
import { writeWhole } from '../../files/output-file.js';
import { ARCHITECTURE_NAMES, makeModel } from '../../live/models/make/make-model.js';
import { modelFile } from '../../live/models/precision.js';
import { oneValue, oneValueOr, wholeNumber } from '../args.js';
import { precisionFlag, precisionOf } from '../precision-flag.js';

/** `escapement model make ARCHITECTURE`: a real architecture with random weights, to try everything with. */
export function modelMakeCommand(cli: Argv): void {
  cli.command(
    'make <architecture>',
    'Write a real architecture with seeded random weights into a model repository',
    (command) =>
      command
        .positional('architecture', {
          choices: ARCHITECTURE_NAMES,
          demandOption: true,
          describe: 'It takes as long as the trained one; its answers mean nothing',
        })
        .options({
          repository: { ...oneValue({ describe: 'Folder of the models' }), demandOption: true },
          name: oneValue({ describe: 'Name of the model', defaultDescription: 'the architecture' }),
          input: oneValueOr('224', 'Image size in pixels; of mlp the number of features'),
          classes: oneValueOr('1000', 'Numbers in the output'),
          seed: oneValueOr('1', 'Every weight follows from it'),
          precision: precisionFlag,
          force: { type: 'boolean', default: false, describe: 'Replace a model of that name and precision' },
        })
        .example('$0 model make resnet18 --repository models --input 64', '')
        .example('$0 model make resnet18 --repository models --input 64 --precision fp16', ''),
    (args) => {
      const name = modelName(args.name ?? args.architecture);
      const precision = precisionOf(args.precision);
      const path = modelFile(join(args.repository as string, name, '1'), precision);
      if (existsSync(path) && !args.force) {
        throw new EscapementError('E_FILE_WRITE', 'exists already: --force replaces it', { file: path });
      }
      const { onnx, parameters } = makeModel(args.architecture, {
        input: wholeNumber(args.input, 'input', 1),
        classes: wholeNumber(args.classes, 'classes', 1),
        seed: wholeNumber(args.seed, 'seed', 0),
        precision,
      });
      writeWhole(path, onnx);
      process.stdout.write(
        `${formatCount(parameters)} parameters, ${formatBytes(onnx.length)} written to ${path}\n`,
      );
    },
  );
}

/** A name that can be a folder and part of a URL. */
function modelName(name: string): string {
  if (/^[A-Za-z0-9][\w.-]*$/.test(name)) return name;
  throw new EscapementError('E_USAGE', `--name ${name}: use letters, digits, ".", "_" and "-"`);
}
