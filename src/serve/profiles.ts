import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EscapementError } from '../base/errors.js';
import { ON_DISK } from '../config/files-on-disk.js';
import { profileFileName } from '../config/onnx-model.js';
import type { Profile } from '../config/profile.js';
import { readProfile } from '../config/read-profile.js';
import type { OrtDeviceSpec } from '../live/device.js';
import { productDirs } from '../live/models/product-dirs.js';
import type { RepositoryModel } from '../live/models/repository.js';
import { suits } from './batching.js';

/** What is known of a model on a device. */
interface KnownProfile {
  /** Null: it must be measured. */
  readonly profile: Profile | null;
  /** Where a new one is to be written. */
  readonly path: string;
  /** Why there is none, for people. */
  readonly why: string;
}

/** Looks for a profile of the model as it is now: in the cache, and next to the model. Throws coded errors. */
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

/** Where a model's profile on a device may lie; it is written to the first. */
export function profilePaths(
  onnxPath: string,
  device: OrtDeviceSpec,
  cacheDir: string | null,
): readonly string[] {
  return productDirs(onnxPath, cacheDir).map((dir) => join(dir, profileFileName(device)));
}

/** A profile that cannot be understood is measured again; any other error is thrown. */
function damage(error: unknown): EscapementError {
  if (error instanceof EscapementError && error.code === 'E_PROFILE') return error;
  throw error;
}
