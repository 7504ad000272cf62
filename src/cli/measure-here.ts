import { join } from 'node:path';
import type { OrtDeviceSpec } from '../live/device.js';
import type { Precision } from '../live/models/precision.js';
import {
  type RepositoryModel,
  readModel,
  readModelFile,
  surveyRepository,
} from '../live/models/repository.js';
import { type MeasuredProfile, measureProfile } from '../serve/measure-profile.js';
import { profilePaths } from '../serve/profiles.js';
import { sessionSettings } from '../serve/session-settings.js';
import { runtimeOf } from './live-settings.js';
import {
  checkOneFile,
  chosenSizes,
  type Measurable,
  type MeasuringArgs,
  type Unmeasured,
} from './measuring.js';
import { usageError, type ValuesOf } from './options.js';
import type { cacheFlags, deviceFlags, runtimeFlags } from './server-options.js';

type HereArgs = MeasuringArgs & ValuesOf<typeof cacheFlags & typeof deviceFlags & typeof runtimeFlags>;

/** Models of a repository or file, measured on a device of this machine; those that cannot be read go to `failed`. */
export async function modelsHere(path: string, args: HereArgs, failed: Unmeasured[]): Promise<Measurable[]> {
  const runtime = await runtimeOf(args);
  const device = { kind: args.device, adapter: args.adapter, session: sessionSettings(runtime) };
  const cacheDir = args['cache-dir'] ?? null;
  const models = await chosenModels(path, args.model, runtime.precision, failed);
  checkOneFile(args.out, models.length + failed.length);
  return models.map((model) => {
    const batchSizes = chosenSizes(args['batch-sizes'], model.batchSizes, model.signature.batched);
    const options = { batchSizes, runs: args.runs ?? null, budgetNs: args.budget, cacheDir };
    return {
      name: model.name,
      file: profilePaths(model.onnxPath, device satisfies OrtDeviceSpec, cacheDir)[0],
      measure: async (onProgress) => {
        const measured = await measureProfile(model, device, { ...options, onProgress });
        return { ...measured, first: ['LOAD', measured.measurement.load], notes: notesOf(measured) };
      },
    };
  });
}

async function chosenModels(
  path: string,
  names: readonly string[],
  precision: Precision,
  failed: Unmeasured[],
): Promise<readonly RepositoryModel[]> {
  if (path.endsWith('.onnx')) {
    if (names.length === 0) return [await readModelFile(path)];
    throw usageError('--model selects from a repository, and this is a single model');
  }
  if (names.length > 0) return Promise.all(names.map((name) => readModel(join(path, name), precision)));
  const { models, problems } = await surveyRepository(path, precision);
  failed.push(...problems);
  return models;
}

function notesOf({ profile: { batching, batches }, measurement }: MeasuredProfile): string[] {
  const first = `the very first LOAD took ${measurement.firstLoadMs.toFixed(1)} ms`;
  if (batching === undefined) return [first];
  const { independent, what, padding } = batching;
  const ignored =
    batches.length > 1
      ? 'warning: batched as config.yaml says, but answers depend on the rest of the batch'
      : 'no batches, one request at a time';
  const padded = padding?.same ? 'padding' : 'warning: padded as config.yaml says, but answers depend on it';
  return [
    `${independent ? 'batches' : ignored}: ${what}`,
    ...(padding === undefined ? [] : [`${padded}: ${padding.what}`]),
    first,
  ];
}
