import { EscapementError } from '../../base/errors.js';
import { printable } from '../../base/printable.js';
import { formatBytes } from '../../config/units-text.js';
import { FREE, type TensorSignature } from '../../live/model.js';
import type { Ensemble } from '../../live/model-list.js';
import type { RepositoryModel } from '../../live/models/repository.js';
import type { MeasuredCheck } from '../../serve/profiles.js';
import { table } from '../../text/table.js';
import { json, print } from '../common-options.js';
import { group, required, text, type ValuesOf } from '../options.js';
import { cacheFlags } from '../server-options.js';

export const flags = {
  repository: required(text('Model repository, as NAME/VERSION/model.onnx')),
  ...group('Options', { 'cache-dir': { ...cacheFlags['cache-dir'], group: 'Options' }, json }),
};
export const examples = ['model list models'];
export const notes = 'Exit code 41: something in the repository cannot be served; the rest is listed.';

/** `escapement model list DIR`: servable models of a repository, and what in it cannot be served. */
export async function handler({
  repository,
  json,
  'cache-dir': cacheDir,
}: ValuesOf<typeof flags>): Promise<void> {
  const { runtimeOf } = await import('../live-settings.js');
  // Loads onnxruntime only if models are inspected.
  const { surveyRepository } = await import('../../live/models/repository.js');
  await runtimeOf({ experiment: undefined, set: [] });
  const { measuredChecks } = await import('../../serve/profiles.js');
  const survey = await surveyRepository(repository);
  const withChecks = async (model: RepositoryModel) => {
    return { ...model, batching: await measuredChecks(model, cacheDir ?? null) };
  };
  const models = await Promise.all(survey.models.map(withChecks));
  const problems = survey.problems.map(({ name, version, error: { code, message: reason } }) => {
    return { name, version, code, reason };
  });
  const { ensembles } = survey;
  print({ json }, { models, ensembles, problems }, () => listText(models, ensembles, problems));
  if (problems.length === 0) return;
  const served = new Set(models.map(({ name }) => name));
  const which = problems.map(({ name, version }) =>
    printable(version !== null && served.has(name) ? `version ${version} of ${name}` : name),
  );
  const what = `cannot be served: ${[...new Set(which)].join(', ')}; see the reasons above`;
  throw new EscapementError('E_MODEL_FILE', what);
}

type Problem = Readonly<Record<'name' | 'reason', string>> & { readonly version: string | null };

function listText(
  models: readonly ListedModel[],
  ensembles: readonly Ensemble[],
  problems: readonly Problem[],
): string {
  const header = ['name', 'version', 'precisions', 'inputs', 'outputs', 'batch sizes', 'size'];
  const lines = [
    ...models.flatMap(({ name, batching }) =>
      batching
        .filter(({ independent }) => !independent)
        .map(({ device, isIgnored, what }) =>
          isIgnored
            ? `${name} is batched on ${device} because its config.yaml says so, but its answers depend on the rest of the batch: ${what}`
            : `${name} runs one request at a time on ${device}: ${what}`,
        ),
    ),
    ...ensembles.map(
      ({ name, steps }) => `${name} is an ensemble of ${steps.map(({ model }) => model).join(', ')}`,
    ),
    ...problems.map(({ name, version, reason }) => {
      const which = version === null ? name : `${name}, version ${version},`;
      return `${which} cannot be served: ${reason}`;
    }),
  ].map((line) => `${printable(line.trimEnd())}\n`);
  const rows = models.length === 0 ? '' : table([header, ...models.map(row)]);
  const space = rows !== '' && lines.length > 0 ? '\n' : '';
  return `${rows}${space}${lines.join('')}`;
}

/** A model of a repository, with the measured checks of its batching. */
interface ListedModel extends RepositoryModel {
  readonly batching: readonly MeasuredCheck[];
}

function row(model: ListedModel): string[] {
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
