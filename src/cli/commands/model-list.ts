import { stripVTControlCharacters } from 'node:util';
import { formatBytes } from '../../config/units-text.js';
import { FREE, type TensorSignature } from '../../live/model.js';
import type { RepositoryModel } from '../../live/models/repository.js';
import type { MeasuredCheck } from '../../serve/batching.js';
import { table } from '../../text/table.js';
import type { ModelListArgs } from '../usage/model-list.js';

/** `escapement model list DIR`: what a repository serves. */
export async function run({ repository, json, 'cache-dir': cacheDir }: ModelListArgs): Promise<void> {
  // Only who looks at models needs onnxruntime.
  const { readRepository } = await import('../../live/models/repository.js');
  const { measuredChecks } = await import('../../serve/batching.js');
  const models = await Promise.all(
    (await readRepository(repository)).map(async (model) => ({
      ...model,
      batching: await measuredChecks(model, cacheDir ?? null),
    })),
  );
  if (json) {
    process.stdout.write(`${JSON.stringify({ models })}\n`);
    return;
  }
  const header = ['name', 'version', 'precisions', 'inputs', 'outputs', 'batch sizes', 'size'];
  const notes = models.flatMap(({ name, batching }) =>
    batching
      .filter(({ independent }) => !independent)
      .map(({ device, isIgnored, what }) =>
        isIgnored
          ? `${name} is batched on ${device} because its config.yaml says so, but its answers depend on the rest of the batch: ${what}\n`
          : `${name} runs one request at a time on ${device}: ${what}\n`,
      ),
  );
  const space = notes.length > 0 ? '\n' : '';
  process.stdout.write(
    `${table([header, ...models.map(row)])}${space}${notes.map((note) => `${printable(note.trimEnd())}\n`).join('')}`,
  );
}

/** A model of a repository, with the measured checks of its batches. */
interface ListedModel extends RepositoryModel {
  readonly batching: readonly MeasuredCheck[];
}

function row(model: ListedModel): string[] {
  return cells(model).map(printable);
}

/** Names come from files of others, and may try to move the cursor. */
function printable(text: string): string {
  return stripVTControlCharacters(text).replace(/\p{Cc}+/gu, ' ');
}

function cells(model: ListedModel): string[] {
  const { name, version, precisions, signature, batchSizes, onnxBytes, batching } = model;
  const { inputs, outputs } = signature;
  const isMixed =
    batching.length > 0 && batching.every(({ independent, isIgnored }) => !independent && !isIgnored);
  const batched = signature.batched && !isMixed;
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

/** `input FP32 3×224×224`, without the batch; `?` for a size that each request chooses. */
function tensorText({ name, datatype, shape }: TensorSignature): string {
  return `${name} ${datatype} ${shape.map((size) => (size === FREE ? '?' : size)).join('×')}`.trimEnd();
}
