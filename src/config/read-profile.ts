import { NS_PER_MS } from '../base/units.js';
import type { InputFiles } from '../base/world/input-files.js';
import { parsed } from '../base/world/parsed-files.js';
import type { DurationSpread, ModelSpread } from '../sim/spread.js';
import { type Path, readDocument, shortPath } from './document.js';
import type { ExperimentHost } from './experiment-host.js';
import {
  allBatches,
  batchQuantiles,
  loadQuantiles,
  type Profile,
  profileSchema,
  type Quantile,
} from './profile.js';
import { validate } from './validate.js';

/** Reads a profile. Throws `E_FILE_MISSING`, and `E_PROFILE` with file, line and key of a mistake. */
export async function readProfile(path: string, host: ExperimentHost): Promise<Profile> {
  const file = host.locate(path);
  // Messages name the path, which only differs from the file's for experiments from another machine.
  if (file !== path) return parseProfile(await host.input.text(file), path);
  return parsed(host.input, file, readProfileFile);
}

async function readProfileFile(files: InputFiles, file: string): Promise<Profile> {
  return parseProfile(await files.text(file), file);
}

/** Parses a profile; `file` is for messages. Throws `E_PROFILE`. */
export function parseProfile(text: string, file: string): Profile {
  const { tree, placeOf: fileAt } = readDocument(text, file, 'E_PROFILE');
  const placeOf = (path: Path) => ({ ...fileAt(path), key: shortPath(tree, path).join('.') });
  return validate(profileSchema, tree, placeOf, 'E_PROFILE');
}

/** Spread of a profile's measured durations, for simulations that draw them; null if it has but one figure of each. */
export function profileSpread(profile: Profile): ModelSpread | null {
  const batches = allBatches(profile);
  const exec = batches.map((batch) => spreadOf(batchQuantiles(batch), batch.medianMs));
  const load = spreadOf(loadQuantiles(profile), profile.loadMs);
  const switchNs = batches.map(({ medianMs, afterOtherMs = medianMs }) =>
    Math.round(Math.max(0, afterOtherMs - medianMs) * NS_PER_MS),
  );
  const isKnown = load !== null || exec.some((spread) => spread !== null) || switchNs.some((ns) => ns > 0);
  return isKnown ? { exec, load, switchNs } : null;
}

/** The nearest measured quantile replaces an end that was not measured. */
function spreadOf(known: readonly Quantile[], medianMs: number): DurationSpread | null {
  if (known.length < 2) return null;
  const [first, last] = [known[0]!, known[known.length - 1]!];
  const ends = [
    ...(first[0] > 0 ? [[0, first[1]] as const] : []),
    ...known,
    ...(last[0] < 1 ? [[1, last[1]] as const] : []),
  ];
  return { shares: ends.map(([share]) => share), factors: ends.map(([, ms]) => ms / medianMs) };
}
