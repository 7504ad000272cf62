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
