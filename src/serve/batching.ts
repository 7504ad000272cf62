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

/** Whether a profile is of this model as it is now, and has all that serving it takes. */
export function suits(profile: Profile, model: RepositoryModel): boolean {
  if (profile.modelSha256 !== modelDigest(model.onnxPath)) return false;
  const check = checkOf(model, profile);
  const { signature } = withBatching(model, check);
  // Its config.yaml gave dimensions other sizes, or other lengths.
  const { inputs } = atLongest(signature);
  if (profile.inputBytes !== inputs.reduce((sum, { bytes }) => sum + bytes, 0)) return false;
  const measured =
    profile.length === undefined ? [] : [...(profile.shorter ?? []), { length: profile.length }];
  if (`${measured.map(({ length }) => length)}` !== `${signature.lengths?.buckets ?? []}`) return false;
  if ((profile.equalLengths === true) !== (signature.lengths?.fill === null)) return false;
  // What padding does was checked for this fill only.
  if (JSON.stringify(profile.fill ?? {}) !== JSON.stringify(fillByInput(signature))) return false;
  if (model.batchIsUnchecked) {
    const sizes = model.batchSizes.filter((size) => size > 1);
    if (check === null || !sizes.every((size) => check.batchSizes.includes(size))) return false;
  }
  const known = profile.batches.map(({ batch }) => batch);
  return withBatching(model, check).batchSizes.every((size) => known.includes(size));
}

/** What was found about the batches of a model; null: that is not the question, or was not looked at. */
export function checkOf(
  { batchIsUnchecked }: RepositoryModel,
  { batching }: Profile,
): NonNullable<Profile['batching']> | null {
  return batchIsUnchecked ? (batching ?? null) : null;
}

/** Says that a model is served without batches, and what can be done. */
export function mixedText(name: string, { batching }: Profile): string {
  return `${name} is served one request at a time: its first dimension is not a batch of independent rows (${batching?.what}). Write "batch: none" into its config.yaml if that is right, or "batch: rows" to batch its requests anyway, whose answers then depend on each other`;
}

/** Whether the operator has a model's requests batched although its rows were found to depend on each other. */
export function rowsAreMixed(
  { signature, batchIsUnchecked }: RepositoryModel,
  { batching }: Pick<Profile, 'batching'>,
): boolean {
  return signature.batched && !batchIsUnchecked && batching?.independent === false;
}

/** Says that a model's batches give other answers than its requests alone. */
export function mixedRowsText(name: string, { batching }: Profile): string {
  return `warning: ${name} is batched because its config.yaml says "batch: rows", but its answers depend on what else is in the batch: ${batching?.what}`;
}

/** Whether the operator has a model's requests padded although that was found to change answers. */
export function paddingMatters(
  { signature, batchIsUnchecked }: RepositoryModel,
  { batching }: Pick<Profile, 'batching'>,
): boolean {
  return signature.batched && !batchIsUnchecked && batching?.padding?.same === false;
}

/** Says that padding changes a model's answers. */
export function paddingText(name: string, { batching }: Profile): string {
  return `warning: ${name} is padded because its config.yaml says "batch: rows", but its answers depend on how much: ${batching?.padding?.what}`;
}

/** What measuring found about the batches of a model on a device. */
export type MeasuredCheck = NonNullable<Profile['batching']> & {
  readonly device: string;
  /** Its config.yaml says "batch: rows", so the model is batched whatever was found. */
  readonly isIgnored: boolean;
};

/** What measuring found about the batches of a model, a device each; profiles of other models are left out. */
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
      // A profile that cannot be read is measured again when it is needed.
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
