import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { hasFreeSizes, type ModelSignature } from '../model.js';
import { callRuntime } from '../ort/runtime-call.js';
import { type ModelMetadata, readSignature, type SignatureSettings } from '../ort/signature.js';
import { modelDigest } from './digest.js';
import { readLabels } from './labels.js';
import type { Sample } from './measure/sample-inputs.js';
import { checkDescription, modelFileName, NO_FOLDER, readFolderSettings } from './model-settings.js';
import { modelFile, PRECISIONS, type Precision } from './precision.js';
import { readSamples } from './samples.js';
import {
  howToMake,
  isVersion,
  locate,
  noModels,
  problem,
  type RepositoryScan,
  readVersions,
  scanModel,
  scanRepository,
} from './scan.js';
import { DEFAULT_BATCH_SIZES, type ModelSettings } from './settings.js';
import { precisionOf } from './weights.js';

/** A model on disk, independent of any device. */
export interface RepositoryModel {
  readonly name: string;
  readonly version: string;
  readonly onnxPath: string;
  /** Size of that file. */
  readonly onnxBytes: number;
  /** Precision of its weights. */
  readonly precision: Precision;
  /** Available precisions of this version. */
  readonly precisions: readonly Precision[];
  readonly signature: ModelSignature;
  /** Ascending from 1; [1] unless the model is batched. */
  readonly batchSizes: readonly number[];
  /** True if the model would be batched, but no setting or check has confirmed yet that its rows are independent. */
  readonly batchIsUnchecked: boolean;
  /** Default SLO of its requests, ns; null: the server's default. */
  readonly sloNs: number | null;
  /** By output: names of its classes; null: it has none, or no output has any. */
  readonly labels: readonly (readonly string[] | null)[] | null;
  /** Inputs for measuring; empty: to be chosen. */
  readonly samples: readonly Sample[];
  /** Lengths to measure, if inputs may have any; null: to be chosen. */
  readonly lengths: readonly number[] | null;
}

/** Servable and unservable models of a repository. */
interface RepositorySurvey extends Pick<RepositoryScan, 'problems' | 'ensembles'> {
  readonly models: readonly RepositoryModel[];
}

/**
 * Reads a repository, ordered by name and version: the first model or version that cannot be served is an error, so
 * that it shows at once. Throws `E_MODEL_FILE`, and `E_CONFIG_…` for mistakes in settings.
 */
export async function readRepository(dir: string, precision: Precision = 'fp32'): Promise<RepositoryModel[]> {
  const scan = scanRepository(dir, precision);
  if (scan.versions.length === 0 && scan.problems.length === 0) throw noModels(dir);
  return readAll(scan);
}

/** Reads the highest version of the model in folder `dir`. Throws like `readRepository`. */
export async function readModel(dir: string, precision: Precision = 'fp32'): Promise<RepositoryModel> {
  if (!existsSync(dir)) throw problem('no such model', dir);
  const { versions, problems } = scanModel(dir, basename(resolve(dir)), precision);
  const highest = (await readAll({ versions: versions.slice(-1), problems })).at(-1);
  if (highest !== undefined) return highest;
  throw problem('has no version: put the model into a folder with a number, such as 1/model.onnx', dir);
}

/** Reads everything servable in a repository, with reasons for the rest. Throws only if there is no repository. */
export async function surveyRepository(
  dir: string,
  precision: Precision = 'fp32',
): Promise<RepositorySurvey> {
  const scan = scanRepository(dir, precision);
  if (scan.versions.length === 0 && scan.problems.length === 0) throw noModels(dir);
  const { good, bad } = await readVersions(scan, ({ onnxPath }) => readModelFile(onnxPath));
  const problems = bad.map(({ found: { name, version }, error }) => {
    if (!(error instanceof EscapementError)) throw error;
    return { name, version, error };
  });
  const models = good.map(({ value }) => value);
  return { models, problems: [...scan.problems, ...problems], ensembles: scan.ensembles };
}

async function readAll({
  versions,
  problems,
}: Pick<RepositoryScan, 'versions' | 'problems'>): Promise<RepositoryModel[]> {
  const [first] = problems;
  if (first !== undefined) throw first.error;
  const models: RepositoryModel[] = [];
  for (const { onnxPath } of versions) models.push(await readModelFile(onnxPath));
  return models;
}

/**
 * Reads one model by its file. In a repository its settings apply, `config` in place of its `config.pbtxt`; elsewhere it
 * has none and is named after the file.
 * Throws like `readRepository`.
 */
export async function readModelFile(onnxPath: string, config?: string): Promise<RepositoryModel> {
  const place = placeOf(onnxPath);
  const stat = statSync(onnxPath, { throwIfNoEntry: false });
  if (stat === undefined) {
    const how =
      place === null
        ? ''
        : howToMake(join(place.versionDir, '..'), place.name, place.version, place.precision);
    throw problem(`no such file${how}`, onnxPath);
  }
  const modelDir = place === null ? '' : join(place.versionDir, '..');
  const folder = place === null ? NO_FOLDER : readFolderSettings(modelDir, place.name, config);
  const { settings } = folder;
  const found = await locate(onnxPath, () => signatureOf(onnxPath, settings));
  if (folder.pbtxt !== null) checkDescription(found, folder.pbtxt);
  const maxBatch = folder.pbtxt?.maxBatchSize?.size ?? 0;
  const signature = maxBatch === 0 ? found : { ...found, maxBatch };
  const precision = precisionOf(onnxPath);
  return {
    name: place?.name ?? basename(onnxPath, '.onnx'),
    version: place?.version ?? '1',
    onnxPath,
    onnxBytes: stat.size,
    precision,
    precisions:
      place === null
        ? [precision]
        : PRECISIONS.filter((each) => existsSync(modelFile(place.versionDir, each, settings.modelFile))),
    signature,
    batchSizes: batchSizesOf(signature, settings, join(modelDir, 'config.yaml')),
    batchIsUnchecked: mayBeBatched(signature) && settings.batch === undefined,
    sloNs: settings.slo ?? null,
    labels: readLabels(modelDir, settings.labels, signature),
    samples: readSamples(modelDir, settings, signature),
    lengths: (signature.stackable ? settings.buckets : undefined) ?? null,
  };
}

/** Folder with the settings of a model in a repository. Throws `E_MODEL_FILE` for a file that is in none. */
export function modelDirOf(onnxPath: string): string {
  const place = placeOf(onnxPath);
  if (place === null) throw problem('is in no repository, so it has no config.yaml', onnxPath);
  return join(place.versionDir, '..');
}

/** Place of a model's file in a repository. */
interface ModelPlace {
  readonly name: string;
  readonly version: string;
  readonly versionDir: string;
  readonly precision: Precision;
}

/** Null: the file is in no repository. */
function placeOf(onnxPath: string): ModelPlace | null {
  // `VERSION/model.onnx`, within `fp16`, within a folder `model.onnx`, or within both.
  for (const up of ['.', '..', '../..']) {
    const versionDir = join(dirname(onnxPath), up);
    const version = basename(resolve(versionDir));
    if (!isVersion(version)) continue;
    const name = basename(resolve(versionDir, '..'));
    const fileName = modelFileName(join(versionDir, '..'), name);
    for (const precision of PRECISIONS) {
      if (resolve(onnxPath) === resolve(modelFile(versionDir, precision, fileName))) {
        return { name, version, versionDir, precision };
      }
    }
  }
  return null;
}

/** Metadata of models as onnxruntime describes them, by digest, up to a limit. */
const described = new Map<string, ModelMetadata>();
const MOST_DESCRIBED = 1000;

async function signatureOf(onnxPath: string, settings: SignatureSettings): Promise<ModelSignature> {
  const digest = modelDigest(onnxPath);
  const metadata = described.get(digest) ?? (await callRuntime<ModelMetadata>('describe', onnxPath));
  if (described.size >= MOST_DESCRIBED) described.clear();
  described.set(digest, metadata);
  return readSignature(metadata, onnxPath, settings);
}

function mayBeBatched({ batched, stackable = false }: ModelSignature): boolean {
  return batched || stackable;
}

function batchSizesOf(
  signature: ModelSignature,
  { batch, batchSizes, suggestedSizes }: ModelSettings,
  file: string,
): readonly number[] {
  if (mayBeBatched(signature)) return batchSizes ?? suggestedSizes ?? DEFAULT_BATCH_SIZES;
  if (batchSizes === undefined || batchSizes.length === 1) return [1];
  const why =
    batch === 'none'
      ? 'batch: none says so'
      : hasFreeSizes(signature)
        ? 'requests choose the sizes of its dimensions, unless "dimensions" gives them'
        : 'its first dimension has a fixed size';
  throw new EscapementError('E_CONFIG_VALUE', `the model takes no batches: ${why}. Write [1]`, {
    file,
    key: 'batchSizes',
  });
}
