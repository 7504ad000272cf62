import { existsSync, readdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { EscapementError } from '../base/errors.js';
import { ON_DISK } from '../config/files-on-disk.js';
import { profileFileName } from '../config/onnx-model.js';
import type { Profile } from '../config/profile.js';
import { readProfile } from '../config/read-profile.js';
import type { OrtDeviceSpec } from '../live/device.js';
import { atLongest, fillByInput } from '../live/lengths.js';
import { modelDigest } from '../live/models/digest.js';
import { type Measurement, measureModel, withBatching } from '../live/models/measure/measure.js';
import { MEASURE_BUDGET_NS } from '../live/models/measure/session-timing.js';
import { optimizeModel } from '../live/models/optimize.js';
import { productDirs } from '../live/models/product-dirs.js';
import type { RepositoryModel } from '../live/models/repository.js';
import { samplesDigest } from '../live/models/samples.js';
import { onnxruntimeVersion } from '../live/ort/open-session.js';

/** Search result for a profile of a model on a device. */
interface KnownProfile {
  /** Null: it must be measured. */
  readonly profile: Profile | null;
  /** Path for writing a new one. */
  readonly path: string;
  /** Reason why there is none, for people. */
  readonly why: string;
}

/**
 * Searches for a profile of the current version of the model: in the cache, and next to the model. Throws coded errors.
 */
export async function findProfile(
  model: RepositoryModel,
  device: OrtDeviceSpec,
  cacheDir: string | null,
): Promise<KnownProfile> {
  const paths = profilePaths(model.onnxPath, device, cacheDir);
  const [path] = paths;
  let why = `${path} is missing`;
  for (const each of paths) {
    if (!existsSync(each)) continue;
    const profile = await readProfile(each, ON_DISK).catch(damage);
    if (profile instanceof EscapementError) why = `${each} is damaged (${profile.message})`;
    else if (suits(profile, model)) return { profile, path: each, why: '' };
    else why = `${each} does not fit the model as it is now`;
  }
  return { profile: null, path, why };
}

/** Possible paths of a model's profile on a device; it is written to the first. */
export function profilePaths(
  onnxPath: string,
  device: OrtDeviceSpec,
  cacheDir: string | null,
): readonly string[] {
  return productDirs(onnxPath, cacheDir).map((dir) => join(dir, profileFileName(device)));
}

/** Damage that makes a profile be measured again; any other error is thrown. */
function damage(error: unknown): EscapementError {
  if (error instanceof EscapementError && error.code === 'E_PROFILE') return error;
  throw error;
}

/** True if a profile is of the current version of this model, and complete for serving it. */
export function suits(profile: Profile, model: RepositoryModel): boolean {
  if (profile.modelSha256 !== modelDigest(model.onnxPath)) return false;
  if ((profile.samplesSha256 ?? null) !== samplesDigest(model.samples)) return false;
  const check = checkOf(model, profile);
  const { signature } = withBatching(model, check);
  // Its config.yaml changed sizes of dimensions, or lengths.
  const { inputs } = atLongest(signature);
  if (profile.inputBytes !== inputs.reduce((sum, { bytes }) => sum + bytes, 0)) return false;
  const measured =
    profile.length === undefined ? [] : [...(profile.shorter ?? []), { length: profile.length }];
  const isUnpadded = signature.stackable === true;
  if ((profile.equalLengths === true) !== isUnpadded) return false;
  const asked = isUnpadded ? model.lengths : (signature.lengths?.buckets ?? []);
  if (asked !== null && `${measured.map(({ length }) => length)}` !== `${asked}`) return false;
  // The effect of padding was checked for this fill only.
  if (JSON.stringify(profile.fill ?? {}) !== JSON.stringify(fillByInput(signature))) return false;
  if (model.batchIsUnchecked) {
    const sizes = model.batchSizes.filter((size) => size > 1);
    if (check === null || !sizes.every((size) => check.batchSizes.includes(size))) return false;
  }
  const known = profile.batches.map(({ batch }) => batch);
  return withBatching(model, check).batchSizes.every((size) => known.includes(size));
}

/** Findings about the batches of a model; null: not applicable, or not checked. */
export function checkOf(
  { batchIsUnchecked }: RepositoryModel,
  { batching }: Profile,
): NonNullable<Profile['batching']> | null {
  return batchIsUnchecked ? (batching ?? null) : null;
}

/** Warnings that a model is batched otherwise than the operator may think, each with the reason. */
export function batchingNotes(
  { name, signature, batchIsUnchecked }: RepositoryModel,
  { batching }: Pick<Profile, 'batching'>,
): string[] {
  if (!signature.batched || batching === undefined) return [];
  const { independent, what, padding } = batching;
  const alone = `${name} is served one request at a time: its first dimension is not a batch of independent rows (${what}). Write "batch: none" into its config.yaml if that is right, or "batch: rows" to batch its requests anyway, whose answers then depend on each other`;
  if (batchIsUnchecked) return independent ? [] : [alone];
  const mixed = `warning: ${name} is batched because its config.yaml says "batch: rows", but its answers depend on what else is in the batch: ${what}`;
  const padded = `warning: ${name} is padded because its config.yaml says "batch: rows", but its answers depend on how much: ${padding?.what}`;
  return [...(independent ? [] : [mixed]), ...(padding?.same === false ? [padded] : [])];
}

/** Findings of profiling about the batches of a model on a device. */
export type MeasuredCheck = NonNullable<Profile['batching']> & {
  readonly device: string;
  /** True if its config.yaml says "batch: rows", so that the model is batched regardless. */
  readonly isIgnored: boolean;
};

/** Findings of profiling about the batches of a model, by device; profiles of other models are left out. */
export async function measuredChecks(
  model: RepositoryModel,
  cacheDir: string | null,
): Promise<MeasuredCheck[]> {
  const dirs = productDirs(model.onnxPath, cacheDir).filter((dir) => existsSync(dir));
  const files = new Map(
    dirs.toReversed().flatMap((dir) =>
      readdirSync(dir)
        .filter((name) => PROFILE.test(name))
        .map((name): [string, string] => [name, dir]),
    ),
  );
  const checks = await Promise.all(
    [...files].sort().map(async ([name, dir]) => {
      // An unreadable profile is measured again when needed.
      const profile = await readProfile(join(dir, name), ON_DISK).catch(() => null);
      const isOfModel = profile?.modelSha256 === modelDigest(model.onnxPath);
      const check = isOfModel && model.signature.batched ? profile?.batching : undefined;
      if (check === undefined) return [];
      return [{ device: PROFILE.exec(name)![1], isIgnored: !model.batchIsUnchecked, ...check }];
    }),
  );
  return checks.flat();
}

const PROFILE = /^profile\.(.+)\.json$/;

interface ProfileOptions {
  /** Ascending from 1; default: those of the model. */
  readonly batchSizes?: readonly number[];
  /** Number of INFERs at each batch size; null: until their figures are stable or `budgetNs` is spent. */
  readonly runs?: number | null;
  /** Time for a whole model. Default: 3 s. */
  readonly budgetNs?: number;
  /** Folder for the optimized model; null: next to the model. */
  readonly cacheDir?: string | null;
  /** Reports progress from 0 to 1, and the next step. */
  onProgress?(share: number, next: string): void;
}

export interface MeasuredProfile {
  readonly profile: Profile;
  readonly measurement: Measurement;
}

/**
 * Profiles a model on a device of this machine, on which nothing else should run meanwhile. Throws `E_DEVICE` and
 * `E_MODEL_FILE`, and `E_FILE_WRITE` if the optimized model cannot be written next to the model.
 */
export async function measureProfile(
  model: RepositoryModel,
  device: OrtDeviceSpec,
  {
    batchSizes = model.batchSizes,
    runs = null,
    budgetNs = MEASURE_BUDGET_NS,
    cacheDir = null,
    onProgress,
  }: ProfileOptions = {},
): Promise<MeasuredProfile> {
  const { signature, onnxPath, samples } = model;
  const { ortPath } = await optimizeModel(onnxPath, device.kind, cacheDir);
  const isIgnored = !model.batchIsUnchecked;
  const mayBeBatched = signature.batched || signature.stackable === true;
  const check = mayBeBatched ? { precision: model.precision, isIgnored } : null;
  const { lengths } = model;
  const spec = { ortPath, signature, batchSizes, device, runs, budgetNs, check, samples, lengths };
  const measurement = await measureModel(spec, onProgress);
  const asked = { signature, batchSizes };
  const sizes = isIgnored ? batchSizes : withBatching(asked, measurement.batching).batchSizes;
  return { measurement, profile: profileOf(model, sizes, device, measurement) };
}

/** Name of a device for people. */
export function deviceText({ kind, adapter, session: { intraOpThreads } }: OrtDeviceSpec): string {
  if (kind !== 'cpu') return `${kind}, adapter ${adapter}`;
  const threads = intraOpThreads === 1 ? '1 thread' : `${intraOpThreads} threads`;
  return `${cpus()[0]?.model.trim() ?? 'CPU'}, ${threads}`;
}

function profileOf(
  { name, precision, signature, onnxPath, samples }: RepositoryModel,
  batchSizes: readonly number[],
  device: OrtDeviceSpec,
  {
    load,
    batches,
    length,
    shorter,
    batching,
    weightsBytes,
    loadedBytes,
    inputBytes,
    outputBytes,
    freeOutputs,
  }: Measurement,
): Profile {
  const gpu = deviceText(device);
  const samplesSha256 = samplesDigest(samples);
  const runtime = `onnxruntime ${onnxruntimeVersion()}`;
  const rowsOf = (timed: Measurement['batches']) =>
    timed.map((batch, i) => ({ batch: batchSizes[i], ...batch }));
  const measured = `measured by escapement with ${runtime} on ${gpu}`;
  return {
    name,
    gpu,
    runtime,
    precision: precision === 'fp16' ? 'FP16' : (signature.inputs[0]?.datatype ?? 'none'),
    weightsBytes,
    ...(loadedBytes === undefined ? {} : { loadedBytes }),
    loadMs: load.medianMs,
    loadP99Ms: load.p99Ms,
    loadMaxMs: load.maxMs,
    inputBytes,
    outputBytes,
    modelSha256: modelDigest(onnxPath),
    ...(samplesSha256 === null ? {} : { samplesSha256 }),
    ...(batching === null ? {} : { batching: { ...batching, batchSizes: [...batching.batchSizes] } }),
    ...(freeOutputs ? { freeOutputs } : {}),
    batches: rowsOf(batches),
    ...(length === undefined
      ? {}
      : {
          length,
          shorter: shorter.map((one) => ({ length: one.length, batches: rowsOf(one.batches) })),
          ...(signature.lengths === undefined ? { equalLengths: true } : { fill: fillByInput(signature) }),
        }),
    source: {
      weights: `size of the model as ${runtime} optimises it for ${device.kind}`,
      load: `${measured}; ${load.runs} LOADs from host memory`,
      copies: `inputs and outputs of ${onnxPath}`,
      batches: `${measured}; from inputs to outputs in host memory`,
    },
  };
}
