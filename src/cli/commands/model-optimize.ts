import type { Argv } from 'yargs';
import { DEVICE_FLAGS, provider } from '../device-flags.js';
import { precisionFlag, precisionOf } from '../precision-flag.js';

/** `escapement model optimize DIR`: makes the files that devices load, ahead of serving. */
export function modelOptimizeCommand(cli: Argv): void {
  cli.command(
    'optimize <repository>',
    'Make the optimised files (.ort) that a device loads, where they are missing or old',
    (command) =>
      command
        .positional('repository', {
          type: 'string',
          demandOption: true,
          describe: 'Folder with NAME/VERSION/model.onnx',
        })
        .options({ device: DEVICE_FLAGS.device, precision: precisionFlag })
        .example('$0 model optimize models --device webgpu', ''),
    async (args) => {
      const kind = provider(args.device);
      const precision = precisionOf(args.precision);
      // Only who looks at models needs onnxruntime.
      const { optimizeModel } = await import('../../live/models/optimize.js');
      const { readRepository } = await import('../../live/models/repository.js');
      for (const { onnxPath } of await readRepository(args.repository, precision)) {
        const { ortPath, made } = await optimizeModel(onnxPath, kind);
        process.stdout.write(`${ortPath} ${made ? 'made' : 'is up to date'}\n`);
      }
    },
  );
}
