import { EscapementError } from '../base/errors.js';
import { NS_PER_MS } from '../base/units.js';
import type { InputFiles } from '../base/world/input-files.js';
import { parsed } from '../base/world/parsed-files.js';
import { MOST_LENGTHS } from '../core/model.js';
import type { DurationSpread, ModelSpread } from '../sim/spread.js';
import { type Path, readDocument, shortPath } from './document.js';
import type { ExperimentHost } from './experiment-host.js';
import { allBatches, type Profile, profileSchema } from './profile.js';
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
  const document = readDocument(text, file, 'E_PROFILE');
  const placeOf = (path: readonly (string | number)[]) => {
    const line = document.lineOf(path);
    return { file, ...(line === undefined ? {} : { line }), key: shortPath(document.tree, path).join('.') };
  };
  const written = { placeOf, writtenAt: document.writtenAt };
  const profile = validate(profileSchema, document.tree, written, 'E_PROFILE');
  const wrong = wrongBatches(profile) ?? wrongLengths(profile) ?? crossedQuantiles(profile);
  if (wrong !== null) throw new EscapementError('E_PROFILE', wrong.what, placeOf(wrong.path));
  return profile;
}

/** A mistake in a profile, and its place. */
interface Wrong {
  readonly what: string;
  readonly path: Path;
}

function wrongBatches({ batches }: Profile): Wrong | null {
  const i = batches.findIndex(({ batch }, at) => (at === 0 ? batch !== 1 : batch <= batches[at - 1]!.batch));
  return i < 0 ? null : { what: 'batch sizes must start with 1 and ascend', path: ['batches', i, 'batch'] };
}

function wrongLengths({ length, shorter = [], batches }: Profile): Wrong | null {
  if (length === undefined)
    return shorter.length === 0 ? null : { what: 'needs the longest length too', path: ['length'] };
  if (shorter.length >= MOST_LENGTHS)
    return { what: `has more than ${MOST_LENGTHS} lengths`, path: ['shorter'] };
  const lengths = [...shorter.map((one) => one.length), length];
  const sizes = batches.map(({ batch }) => batch).join();
  for (const [i, one] of shorter.entries()) {
    if (one.length >= lengths[i + 1]!)
      return { what: `lengths must ascend, found ${lengths.join(', ')}`, path: ['shorter', i, 'length'] };
    if (one.batches.map(({ batch }) => batch).join() !== sizes)
      return { what: 'must have the batch sizes of the longest length', path: ['shorter', i, 'batches'] };
  }
  return null;
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

/** The first quantiles of a profile that do not ascend, and their place; null if all do. */
function crossedQuantiles(profile: Profile): Wrong | null {
  if (!ascends(loadQuantiles(profile)))
    return { what: 'loadMs, loadP99Ms and loadMaxMs must ascend', path: ['loadMs'] };
  const batch = profile.batches.findIndex((measured) => !ascends(batchQuantiles(measured)));
  return batch < 0
    ? null
    : { what: 'minMs, medianMs, p90Ms, p99Ms and maxMs must ascend', path: ['batches', batch] };
}

/** A share of the runs and their largest duration; undefined: not measured. */
type Quantile = readonly [share: number, ms: number | undefined];

function batchQuantiles({ minMs, medianMs, p90Ms, p99Ms, maxMs }: Profile['batches'][number]): Quantile[] {
  return [
    [0, minMs],
    [0.5, medianMs],
    [0.9, p90Ms],
    [0.99, p99Ms],
    [1, maxMs],
  ];
}

function loadQuantiles({ loadMs, loadP99Ms, loadMaxMs }: Profile): Quantile[] {
  return [
    [0.5, loadMs],
    [0.99, loadP99Ms],
    [1, loadMaxMs],
  ];
}

/** The nearest measured quantile replaces an end that was not measured. */
function spreadOf(quantiles: readonly Quantile[], medianMs: number): DurationSpread | null {
  const known = measured(quantiles);
  if (known.length < 2) return null;
  const [first, last] = [known[0]!, known[known.length - 1]!];
  if (first.share > 0) known.unshift({ share: 0, ms: first.ms });
  if (last.share < 1) known.push({ share: 1, ms: last.ms });
  return { shares: known.map(({ share }) => share), factors: known.map(({ ms }) => ms / medianMs) };
}

function ascends(quantiles: readonly Quantile[]): boolean {
  const known = measured(quantiles);
  return known.every(({ ms }, i) => i === 0 || ms >= known[i - 1]!.ms);
}

function measured(quantiles: readonly Quantile[]): { share: number; ms: number }[] {
  return quantiles.flatMap(([share, ms]) => (ms === undefined ? [] : [{ share, ms }]));
}
