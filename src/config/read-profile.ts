import { EscapementError } from '../base/errors.js';
import type { InputFiles } from '../base/world/input-files.js';
import { parsed } from '../base/world/parsed-files.js';
import { MOST_LENGTHS } from '../core/model.js';
import { type Path, readDocument, shortPath } from './document.js';
import type { ExperimentHost } from './experiment-host.js';
import { type Profile, profileSchema } from './profile.js';
import { crossedQuantiles } from './profile-spread.js';
import { validate } from './validate.js';

/** Reads a profile. Throws `E_FILE_MISSING`, and `E_PROFILE` with file, line and key of a mistake. */
export async function readProfile(path: string, host: ExperimentHost): Promise<Profile> {
  const file = host.locate(path);
  // Messages name the path, which is the file's own in all but what comes from another machine.
  if (file !== path) return parseProfile(await host.input.text(file), path);
  return parsed(host.input, file, readProfileFile);
}

async function readProfileFile(files: InputFiles, file: string): Promise<Profile> {
  return parseProfile(await files.text(file), file);
}

/** Reads the text of a profile; `file` is for messages. Throws `E_PROFILE`. */
export function parseProfile(text: string, file: string): Profile {
  const document = readDocument(text, file, 'E_PROFILE');
  const placeOf = (path: readonly (string | number)[]) => {
    const line = document.lineOf(path);
    return { file, ...(line === undefined ? {} : { line }), key: shortPath(document.tree, path).join('.') };
  };
  const profile = validate(
    profileSchema,
    document.tree,
    { placeOf, writtenAt: document.writtenAt },
    'E_PROFILE',
  );
  profile.batches.forEach(({ batch }, i) => {
    const previous = i === 0 ? 0 : profile.batches[i - 1]!.batch;
    if (i === 0 ? batch === 1 : batch > previous) return;
    throw new EscapementError(
      'E_PROFILE',
      'batch sizes must start with 1 and ascend',
      placeOf(['batches', i, 'batch']),
    );
  });
  const wrong = wrongLengths(profile);
  if (wrong !== null) throw new EscapementError('E_PROFILE', wrong.what, placeOf(wrong.path));
  const crossed = crossedQuantiles(profile);
  if (crossed !== null) throw new EscapementError('E_PROFILE', crossed.what, placeOf(crossed.path));
  return profile;
}

/** What is wrong with the lengths of a profile, and where; null: nothing. */
function wrongLengths({ length, shorter = [], batches }: Profile): { what: string; path: Path } | null {
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
