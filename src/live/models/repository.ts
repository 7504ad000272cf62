import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import type { ModelSignature } from '../model.js';
import { openSession } from '../ort/open-session.js';
import { readSignature, type SignatureSettings } from '../ort/signature.js';
import { CPU, locate } from './locate.js';
import { modelFile, PRECISIONS, type Precision } from './precision.js';
import { type ModelSettings, readSettings } from './settings.js';
import { precisionOf } from './weights.js';

/** A model on disk, as far as no device is concerned. */
export interface RepositoryModel {
  readonly name: string;
  readonly version: string;
  readonly onnxPath: string;
  /** Size of that file. */
  readonly onnxBytes: number;
  /** Of its weights. */
  readonly precision: Precision;
  /** Precisions in which this version of the model is there. */
  readonly precisions: readonly Precision[];
  readonly signature: ModelSignature;
  /** Ascending from 1; [1] unless the model is batched. */
  readonly batchSizes: readonly number[];
  /** The model would be batched, but no setting or check has shown so far that its rows are independent. */
  readonly batchIsUnchecked: boolean;
  /** SLO of requests that carry none of their own, ns; null: the server's default. */
  readonly sloNs: number | null;
}

/** Batch sizes of a model that takes batches, unless its settings say otherwise. */
const DEFAULT_BATCH_SIZES: readonly number[] = [1, 2, 4, 8];

/**
 * Reads a repository, ordered by name: each model is a folder `NAME/VERSION/model.onnx`, of which the highest
 * version counts, with optional settings in `NAME/config.yaml`; at FP16 `NAME/VERSION/fp16/model.onnx`. One model that
 * cannot be served fails the whole, so that it shows at once. Throws `E_MODEL_FILE`, and `E_CONFIG_…` for
 * mistakes in settings.
 */
export async function readRepository(dir: string, precision: Precision = 'fp32'): Promise<RepositoryModel[]> {
  const names = foldersIn(dir, 'no such folder: name a model repository').filter(
    (name) => !name.startsWith('.'),
  );
  if (names.length === 0) {
    throw problem('has no models: put them into NAME/VERSION/model.onnx, or make one with model make', dir);
  }
  const models: RepositoryModel[] = [];
  for (const name of names.sort()) models.push(await readModel(join(dir, name), precision));
  return models;
}

/** Reads one model of a repository, `dir` being its folder. Throws as `readRepository`. */
export async function readModel(dir: string, precision: Precision = 'fp32'): Promise<RepositoryModel> {
  const version = highestVersion(foldersIn(dir, 'no such model'));
  if (version === null) {
    throw problem('has no version: put the model into a folder with a number, such as 1/model.onnx', dir);
  }
  return readModelFile(modelFile(join(dir, version), precision));
}

/**
 * Reads one model by its file. In a repository its settings count; elsewhere it has none and is called like the
 * file. Throws as `readRepository`.
 */
export async function readModelFile(onnxPath: string): Promise<RepositoryModel> {
  const place = placeOf(onnxPath);
  const stat = statSync(onnxPath, { throwIfNoEntry: false });
  if (stat === undefined) throw problem(`no such file${place === null ? '' : howToMake(place)}`, onnxPath);
  const settingsPath = place === null ? '' : join(place.versionDir, '..', 'config.yaml');
  const settings: ModelSettings = place === null ? { dimensions: {} } : readSettings(settingsPath);
  const signature = await locate(onnxPath, () => signatureOf(onnxPath, settings));
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
        : PRECISIONS.filter((each) => existsSync(modelFile(place.versionDir, each))),
    signature,
    batchSizes: batchSizesOf(signature, settings, settingsPath),
    batchIsUnchecked: signature.batched && settings.batch === undefined,
    sloNs: settings.slo ?? null,
  };
}

const VERSION = /^\d+$/;

/** The version that is served, of names of folders; null: none of them is a version. */
export function highestVersion(names: readonly string[]): string | null {
  const versions = names.filter((name) => VERSION.test(name));
  return versions.length === 0 ? null : versions.reduce((a, b) => (Number(b) > Number(a) ? b : a));
}

/** Where in a repository a model's file is. */
interface ModelPlace {
  readonly name: string;
  readonly version: string;
  readonly versionDir: string;
  readonly precision: Precision;
}

/** Null: the file is in no repository. */
function placeOf(onnxPath: string): ModelPlace | null {
  const dir = dirname(onnxPath);
  const versionDirs = { fp32: dir, fp16: join(dir, '..') };
  for (const precision of PRECISIONS) {
    const versionDir = versionDirs[precision];
    const version = basename(resolve(versionDir));
    if (VERSION.test(version) && resolve(onnxPath) === resolve(modelFile(versionDir, precision))) {
      return { name: basename(resolve(versionDir, '..')), version, versionDir, precision };
    }
  }
  return null;
}

/** The command writes version 1. */
function howToMake({ name, version, versionDir, precision }: ModelPlace): string {
  if (version !== '1') return ': put the model there';
  const flags = precision === 'fp32' ? '' : ` --precision ${precision}`;
  const repository = join(versionDir, '..', '..');
  return `: put the model there, or make one with: escapement model make ARCHITECTURE --repository ${repository} --name ${name}${flags}`;
}

async function signatureOf(onnxPath: string, settings: SignatureSettings): Promise<ModelSignature> {
  const session = await openSession(onnxPath, CPU, { level: 'disabled' });
  try {
    return readSignature(session, onnxPath, settings);
  } finally {
    await session.release();
  }
}

function batchSizesOf(
  { batched }: ModelSignature,
  { batch, batchSizes }: ModelSettings,
  file: string,
): readonly number[] {
  if (batched) return batchSizes ?? DEFAULT_BATCH_SIZES;
  if (batchSizes === undefined || batchSizes.length === 1) return [1];
  throw new EscapementError(
    'E_CONFIG_VALUE',
    `the model takes no batches: ${batch === 'none' ? 'batch: none says so' : 'its first dimension has a fixed size'}. Write [1]`,
    { file, key: 'batchSizes' },
  );
}

function foldersIn(dir: string, otherwise: string): string[] {
  if (!isFolder(dir)) throw problem(otherwise, dir);
  return readdirSync(dir).filter((name) => isFolder(join(dir, name)));
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function problem(what: string, file: string): EscapementError {
  return new EscapementError('E_MODEL_FILE', what, { file });
}
