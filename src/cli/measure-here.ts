import { join } from 'node:path';
import { EscapementError } from '../base/errors.js';
import type { OrtDeviceSpec } from '../live/device.js';
import { FREE } from '../live/model.js';
import type { Precision } from '../live/models/precision.js';
import {
  modelDirOf,
  type RepositoryModel,
  readModel,
  readModelFile,
  surveyRepository,
} from '../live/models/repository.js';
import { writePadding } from '../live/models/settings.js';
import { type MeasuredProfile, measureProfile, profilePaths } from '../serve/profiles.js';
import { fetchStatus } from '../tools/top/fetch-status.js';
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
import { accessOf } from './token.js';

type HereArgs = MeasuringArgs & ValuesOf<typeof cacheFlags & typeof deviceFlags & typeof runtimeFlags>;

/** Models of a repository or file, measured on a device of this machine; those that cannot be read go to `failed`. */
export async function modelsHere(path: string, args: HereArgs, failed: Unmeasured[]): Promise<Measurable[]> {
  const runtime = await runtimeOf(args);
  const device = { kind: args.device, adapter: args.adapter, session: runtime };
  const cacheDir = args['cache-dir'] ?? null;
  const models = await chosenModels(path, args.model, runtime.precision, failed);
  checkOneFile(args.out, models.length + failed.length);
  const advised = await bucketsFor(models, args);
  return models.map((model) => {
    const { batched, stackable = false } = model.signature;
    const batchSizes = chosenSizes(args['batch-sizes'], model.batchSizes, batched || stackable);
    const options = { batchSizes, runs: args.runs ?? null, budgetNs: args.budget, cacheDir };
    return {
      name: model.name,
      file: profilePaths(model.onnxPath, device satisfies OrtDeviceSpec, cacheDir)[0],
      measure: async (onProgress) => {
        const buckets = advised.get(model.name);
        const measure = (one: RepositoryModel) => measureProfile(one, device, { ...options, onProgress });
        const measured =
          buckets === undefined ? await measure(model) : await measurePadded(model, buckets, measure);
        return { ...measured, first: ['LOAD', measured.measurement.load], notes: notesOf(measured) };
      },
    };
  });
}

/** Buckets by model that a server suggests. Throws `E_SERVER` if it suggests none. */
async function bucketsFor(
  models: readonly RepositoryModel[],
  { 'buckets-from': url, ...args }: HereArgs,
): Promise<ReadonlyMap<string, readonly number[]>> {
  if (url === undefined) return new Map();
  const { by } = await fetchStatus(url, await accessOf(args));
  const suggested = new Map(by.model.map(({ key, lengths }) => [key, lengths?.buckets ?? []]));
  const found = models.flatMap(({ name }): [string, readonly number[]][] => {
    const buckets = suggested.get(name) ?? [];
    return buckets.length === 0 ? [] : [[name, buckets]];
  });
  if (found.length > 0) return new Map(found);
  const which = models.map(({ name }) => name).join(', ');
  const what = `suggests no buckets for ${which}: it does after 1000 requests to a model that takes several lengths, unless its own buckets are about as good`;
  throw new EscapementError('E_SERVER', `${url} ${what}`);
}

/** Measures a model with new buckets, written into its config.yaml unless it cannot be served with them. */
async function measurePadded(
  { onnxPath, signature }: RepositoryModel,
  buckets: readonly number[],
  measure: (model: RepositoryModel) => Promise<MeasuredProfile>,
): Promise<MeasuredProfile> {
  const long = signature.inputs.filter(({ shape }) => shape.slice(signature.batched ? 0 : 1).includes(FREE));
  const fill = Object.fromEntries(long.map(({ name, datatype }) => [name, datatype === 'BOOL' ? false : 0]));
  const undo = writePadding(join(modelDirOf(onnxPath), 'config.yaml'), buckets, fill);
  try {
    return await measure(await readModelFile(onnxPath));
  } catch (error) {
    undo();
    throw error;
  }
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
