import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { fileDigest } from '../base/files/file-digest.js';
import { writeWhole } from '../base/files/output-file.js';
import { NS_PER_S } from '../base/units.js';
import { restrictBatches } from '../config/onnx-model.js';
import { type Profile, profileModel } from '../config/profile.js';
import type { OrtDeviceSpec } from '../live/device.js';
import type { WorkerModel } from '../live/model.js';
import type { ModelList, ModelProblem } from '../live/model-list.js';
import { modelDigest } from '../live/models/digest.js';
import { withBatching } from '../live/models/measure/measure.js';
import { MEASURE_BUDGET_NS } from '../live/models/measure/session-timing.js';
import { settingsFiles } from '../live/models/model-settings.js';
import { optimizeModel } from '../live/models/optimize.js';
import type { Precision } from '../live/models/precision.js';
import { type RepositoryModel, readModelFile } from '../live/models/repository.js';
import {
  findVersion,
  noModels,
  readVersions,
  repositoryWith,
  scanNamed,
  scanRepositories,
  scanRepository,
} from '../live/models/scan.js';
import { TooLong } from '../live/ort/runtime-call.js';
import { type RuntimeProblem, runtimeProblem } from '../live/ort/runtime-problem.js';
import type { Measure } from './deployment-options.js';
import { batchingNotes, checkOf, findProfile, measureProfile } from './profiles.js';

type Say = (what: string) => void;

/** Options for preparing models for a device. */
interface PrepareOptions {
  readonly device: OrtDeviceSpec;
  readonly pageBytes: number;
  /** Folder for files derived from models; null: next to them, if that is writable. */
  readonly cacheDir: string | null;
  /** Effort for a model without a profile, by default `full`, and its time, by default that of the effort. */
  readonly measure?: Measure;
  readonly budgetNs?: number | undefined;
}

/** Default time for a model. */
const BUDGETS_NS: Readonly<Record<Measure, number>> = {
  none: 0,
  quick: 0.15 * NS_PER_S,
  full: MEASURE_BUDGET_NS,
};

/** A model ready for a worker. */
export interface PreparedModel extends WorkerModel {
  readonly digest: string;
  readonly isProvisional: boolean;
}

/**
 * Prepares a model for running: optimizes it for the device, and finds its profile there. Without a matching profile it
 * is measured, and the profile is kept. `config`: settings in place of its `config.pbtxt`. `say` receives lines for the
 * operator. Blocks this thread at times. Throws `E_MODEL_FILE`, `E_DEVICE`, `E_PROFILE`, `E_CONFIG_…` and
 * `E_FILE_WRITE`.
 */
export async function prepareModel(
  onnxPath: string,
  modelDir: string,
  options: PrepareOptions,
  say: Say,
  config?: string,
): Promise<PreparedModel> {
  const { device, pageBytes, cacheDir } = options;
  // Taken before reading: later changes must count as changes.
  const digest = versionDigest(onnxPath, modelDir, config);
  const model = await readModelFile(onnxPath, config);
  const { ortPath, made } = await optimizeModel(onnxPath, device.kind, cacheDir);
  if (made === 'damaged') say(`${ortPath} was damaged, so it was made again`);
  const profile = await profileOf(model, options, say);
  const served = withBatching(model, checkOf(model, profile), profile.freeOutputs);
  for (const note of batchingNotes(model, profile)) say(note);
  const place = { file: join(modelDir, 'config.yaml'), key: 'batchSizes' };
  const { name, version, signature, sloNs, labels } = served;
  const spec = profileModel(restrictBatches(profile, served.batchSizes, place), name, pageBytes);
  const isProvisional = profile.provisional === true;
  return { spec, signature, version, sloNs, labels, ortPath, digest, config, isProvisional };
}

/** Digest of the model, its weights and its settings files, by which every worker identifies a version. */
function versionDigest(onnxPath: string, modelDir: string, config?: string): string {
  const settings = settingsFiles(modelDir, basename(modelDir), config)
    .map((path) => fileDigest(path) ?? '')
    .join();
  return createHash('sha256')
    .update(JSON.stringify([modelDigest(onnxPath), settings, config]))
    .digest('hex');
}

async function profileOf(
  model: RepositoryModel,
  { device, cacheDir, measure = 'full', budgetNs = BUDGETS_NS[measure] }: PrepareOptions,
  say: Say,
): Promise<Profile> {
  const known = await findProfile(model, device, cacheDir);
  const isEnough = measure !== 'full' || known.profile?.provisional !== true;
  if (known.profile !== null && isEnough) return known.profile;
  const why = known.why || `${known.path} is provisional`;
  say(`measuring ${model.name} on ${device.kind}: ${why}`);
  const measured = await measureProfile(model, device, { cacheDir, budgetNs });
  const profile = measure === 'full' ? measured.profile : { ...measured.profile, provisional: true };
  writeWhole(known.path, `${JSON.stringify(profile, null, 2)}\n`);
  return profile;
}

export interface Repository {
  readonly dirs: readonly string[];
  readonly precision: Precision;
  readonly options: PrepareOptions;
}

interface PrepareTask extends Repository {
  readonly kind: 'prepare';
  readonly name: string;
  readonly version: string;
  readonly config: string | undefined;
}

/** Tasks of a preparer: to list a repository, or one model of it and its files; to prepare a version. */
export type PreparerTask =
  | (Repository & {
      readonly kind: 'list';
      readonly name: string | null;
      readonly config: string | undefined;
    })
  | PrepareTask;

/** A list in the form that crosses threads. */
export type PlainList = Omit<ModelList, 'problems'> & {
  readonly problems: readonly (Omit<ModelProblem, 'error'> & { readonly error: RuntimeProblem })[];
};

const UNSEEN = { digest: '', isMeasured: false };
/** By digest of models known to have a profile, up to a limit: true if that is provisional. Forgotten ones are checked again. */
const measured = new Map<string, boolean>();
const MOST_MEASURED = 10_000;
/** Reason why onnxruntime was stopped, by digest of the model: retrying at each look would keep others waiting. */
const stopped = new Map<string, TooLong>();

/** Does one task of a preparer. `say` receives lines for the operator. Throws like `prepareModel`. */
export function performTask(task: PreparerTask, say: Say): Promise<PlainList | PreparedModel | null> {
  return task.kind === 'prepare' ? prepared(task, say) : listed(task, task.name, task.config, say);
}

async function prepared(
  { dirs, precision, options, name, version, config }: PrepareTask,
  say: Say,
): Promise<PreparedModel | null> {
  const dir = repositoryWith(dirs, name);
  const onnxPath = findVersion(dir, name, version, precision);
  if (onnxPath === null) return null;
  const modelDir = join(dir, name);
  const model = await unlessStopped(onnxPath, modelDir, () =>
    prepareModel(onnxPath, modelDir, options, say, config),
  );
  remember(model.digest, model.isProvisional);
  return model;
}

async function listed(
  { dirs, precision, options }: Repository,
  named: string | null,
  config: string | undefined,
  say: Say,
): Promise<PlainList> {
  const dir = named === null ? '' : repositoryWith(dirs, named);
  const scan = named === null ? scanRepositories(dirs, precision) : scanNamed(dir, named, precision, config);
  const { ensembles, skipped, notes } = scan;
  const problems = scan.problems.map((one) => ({ ...one, error: plain(one.error, say) }));
  if (named === null) {
    const versions = scan.versions.map(({ name, version }) => ({ name, version, ...UNSEEN }));
    return { versions, problems, ensembles, skipped, notes };
  }
  const { good, bad } = await readVersions(scan, ({ onnxPath }) =>
    unlessStopped(onnxPath, join(dir, named), () => seen(onnxPath, join(dir, named), options, config)),
  );
  for (const { found, error } of bad)
    problems.push({ name: named, version: found.version, error: plain(error, say) });
  const versions = good.map(({ found: { version }, value, standsIn }) => ({
    name: named,
    version,
    ...value,
    ...(standsIn ? { standsIn } : {}),
  }));
  return { versions, problems, ensembles, skipped, notes };
}

async function seen(onnxPath: string, modelDir: string, options: PrepareOptions, config?: string) {
  const digest = versionDigest(onnxPath, modelDir, config);
  // Skips reading, which takes long, for the served models that are looked at most often.
  if (!measured.has(digest)) {
    const model = await readModelFile(onnxPath, config);
    const { profile } = await findProfile(model, options.device, options.cacheDir);
    if (profile !== null) remember(digest, profile.provisional === true);
  }
  return { digest, isMeasured: measured.has(digest), isProvisional: measured.get(digest) === true };
}

async function unlessStopped<T>(onnxPath: string, modelDir: string, work: () => Promise<T>): Promise<T> {
  const digest = () => versionDigest(onnxPath, modelDir);
  const before = stopped.size === 0 ? undefined : stopped.get(digest());
  if (before !== undefined) throw before;
  return work().catch((error) => {
    if (error instanceof TooLong) stopped.set(digest(), error);
    throw error;
  });
}

function remember(digest: string, isProvisional: boolean): void {
  if (measured.size >= MOST_MEASURED) measured.clear();
  measured.set(digest, isProvisional);
}

/** Leaves out details meant for the log only. */
export function plain(error: unknown, say: Say): RuntimeProblem {
  const { detail, ...problem } = runtimeProblem(error);
  if (detail !== undefined) say(`a model fails: ${detail}`);
  return problem;
}

/**
 * Models of a repository, ready for the device: see `prepareModel`. `say` receives lines for the operator. Throws
 * `E_MODEL_FILE`, `E_DEVICE`, `E_PROFILE`, `E_CONFIG_…` and `E_FILE_WRITE`.
 */
export async function repositoryModels(
  dir: string,
  device: OrtDeviceSpec,
  pageBytes: number,
  say: Say,
  {
    precision = 'fp32',
    cacheDir = null,
  }: Partial<Pick<PrepareOptions, 'cacheDir'>> & { precision?: Precision } = {},
): Promise<WorkerModel[]> {
  const { versions, problems, notes } = scanRepository(dir, precision);
  if (versions.length === 0 && problems.length === 0) throw noModels(dir);
  if (problems.length > 0) throw problems[0].error;
  for (const note of notes) say(note);
  const models: WorkerModel[] = [];
  for (const { name, onnxPath } of versions)
    models.push(await prepareModel(onnxPath, join(dir, name), { device, pageBytes, cacheDir }, say));
  return models;
}
