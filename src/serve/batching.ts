import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ON_DISK } from '../config/files-on-disk.js';
import type { Profile } from '../config/profile.js';
import { readProfile } from '../config/read-profile.js';
import { atLongest, fillByInput } from '../live/lengths.js';
import { modelDigest } from '../live/models/digest.js';
import { withBatching } from '../live/models/measure/batching.js';
import { productDirs } from '../live/models/product-dirs.js';
import type { RepositoryModel } from '../live/models/repository.js';
import { samplesDigest } from '../live/models/samples.js';

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
