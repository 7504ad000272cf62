import type { Argv } from 'yargs';
import { formatBytes } from '../../experiment/units-text.js';
import type { TensorSignature } from '../../live/model.js';
import type { RepositoryModel } from '../../live/models/repository.js';
import { table } from '../text-layout.js';

/** `escapement model list DIR`: what a repository serves. */
export function modelListCommand(cli: Argv): void {
  cli.command(
    'list <repository>',
    'Print the models of a repository: what they take, what they give',
    (command) =>
      command.positional('repository', {
        type: 'string',
        demandOption: true,
        describe: 'Folder with NAME/VERSION/model.onnx',
      }),
    async ({ repository }) => {
      // Only who looks at models needs onnxruntime.
      const { readRepository } = await import('../../live/models/repository.js');
      process.stdout.write(
        table([
          ['name', 'version', 'precisions', 'inputs', 'outputs', 'batch sizes', 'size'],
          ...(await readRepository(repository)).map(row),
        ]),
      );
    },
  );
}

function row({ name, version, precisions, signature, batchSizes, onnxBytes }: RepositoryModel): string[] {
  const { inputs, outputs, batched } = signature;
  return [
    name,
    version,
    precisions.join(','),
    inputs.map(tensorText).join(', '),
    outputs.map(tensorText).join(', '),
    batched ? batchSizes.join(',') : 'none',
    formatBytes(onnxBytes),
  ];
}

/** `input FP32 3×224×224`, without the batch. */
function tensorText({ name, datatype, shape }: TensorSignature): string {
  return `${name} ${datatype} ${shape.join('×')}`.trimEnd();
}
