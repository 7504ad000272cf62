import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { EscapementError } from '../../core/errors.js';
import type { ModelSignature } from '../model.js';
import { openSession } from '../ort/open-session.js';
import { type Dimensions, readSignature } from '../ort/signature.js';
import { CPU, locate } from './locate.js';
import { type ModelSettings, readSettings } from './settings.js';

/** A model on disk, as far as no device is concerned. */
export interface RepositoryModel {
  readonly name: string;
  readonly version: string;
  readonly onnxPath: string;
  /** Size of that file. */
  readonly onnxBytes: number;
  readonly signature: ModelSignature;
  /** Ascending from 1; [1] unless the model is batched. */
  readonly batchSizes: readonly number[];
  /** Objective of requests that carry none of their own, ns; null: the server's default. */
  readonly sloNs: number | null;
}

/** Batch sizes of a model that takes batches, unless its settings say otherwise. */
export const DEFAULT_BATCH_SIZES: readonly number[] = [1, 2, 4, 8];

/**
 * Reads a repository, ordered by name: each model is a folder `NAME/VERSION/model.onnx`, of which the highest
 * version counts, with optional settings in `NAME/config.yaml`. One model that cannot be served fails the whole,
 * so that nobody finds out later. Throws `E_MODEL_FILE`, and `E_CONFIG_…` for mistakes in settings.
 */
export async function readRepository(dir: string): Promise<RepositoryModel[]> {
  const names = foldersIn(dir, 'no such folder: name a model repository').filter(
    (name) => !name.startsWith('.'),
  );
  if (names.length === 0) {
    throw problem('has no models: put them into NAME/VERSION/model.onnx, or make one with model make', dir);
  }
  const models: RepositoryModel[] = [];
  for (const name of names.sort()) models.push(await readModel(join(dir, name)));
  return models;
}

/** Reads one model of a repository, `dir` being its folder. Throws as `readRepository`. */
export async function readModel(dir: string): Promise<RepositoryModel> {
  const versions = foldersIn(dir, 'no such model').filter((name) => VERSION.test(name));
  if (versions.length === 0) {
    throw problem('has no version: put the model into a folder with a number, such as 1/model.onnx', dir);
  }
  const version = versions.reduce((a, b) => (Number(b) > Number(a) ? b : a));
  return readModelFile(join(dir, version, MODEL_FILE));
}

/**
 * Reads one model by its file. In a repository its settings count; elsewhere it has none and is called like the
 * file. Throws as `readRepository`.
 */
export async function readModelFile(onnxPath: string): Promise<RepositoryModel> {
  const path = resolve(onnxPath);
  const version = basename(dirname(path));
  if (basename(path) !== MODEL_FILE || !VERSION.test(version)) {
    return describe(basename(path, '.onnx'), '1', onnxPath, { dimensions: {} }, '');
  }
  const settingsPath = join(dirname(onnxPath), '..', 'config.yaml');
  const name = basename(dirname(dirname(path)));
  return describe(name, version, onnxPath, readSettings(settingsPath), settingsPath);
}

const MODEL_FILE = 'model.onnx';
const VERSION = /^\d+$/;

async function describe(
  name: string,
  version: string,
  onnxPath: string,
  settings: ModelSettings,
  settingsPath: string,
): Promise<RepositoryModel> {
  const stat = statSync(onnxPath, { throwIfNoEntry: false });
  if (stat === undefined) throw problem('no such file', onnxPath);
  const signature = await locate(onnxPath, () => signatureOf(onnxPath, settings.dimensions));
  return {
    name,
    version,
    onnxPath,
    onnxBytes: stat.size,
    signature,
    batchSizes: batchSizesOf(signature, settings, settingsPath),
    sloNs: settings.slo ?? null,
  };
}

async function signatureOf(onnxPath: string, dimensions: Dimensions): Promise<ModelSignature> {
  const session = await openSession(onnxPath, CPU, { level: 'disabled' });
  try {
    return readSignature(session, onnxPath, dimensions);
  } finally {
    await session.release();
  }
}

function batchSizesOf(
  { batched }: ModelSignature,
  { batchSizes }: ModelSettings,
  file: string,
): readonly number[] {
  if (batched) return batchSizes ?? DEFAULT_BATCH_SIZES;
  if (batchSizes === undefined || batchSizes.length === 1) return [1];
  throw new EscapementError(
    'E_CONFIG_VALUE',
    'the model takes no batches: its first dimension has a fixed size. Write [1]',
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
