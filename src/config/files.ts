import { createReadStream } from 'node:fs';
import { type ErrorPlace, EscapementError } from '../base/errors.js';
import { MIB } from '../base/units.js';

/** No experiment, profile or list of models comes near. */
const MOST_BYTES = 256 * MIB;

/** The text of a file that may be a pipe. Throws `E_FILE_MISSING`, also for one without end, such as /dev/zero. */
export async function readTextFile(path: string): Promise<string> {
  const blocks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const block of createReadStream(path) as AsyncIterable<Buffer>) {
      blocks.push(block);
      bytes += block.length;
      if (bytes > MOST_BYTES) break;
    }
  } catch (error) {
    throw fileProblem(error, path);
  }
  if (bytes > MOST_BYTES)
    throw new EscapementError('E_FILE_MISSING', `is larger than ${MOST_BYTES / MIB} MiB`, { file: path });
  return Buffer.concat(blocks).toString('utf8');
}

/** The error for an operator of a file that cannot be read; `place` is where it was named. */
export function fileProblem(error: unknown, path: string, place: ErrorPlace = {}): EscapementError {
  const code = (error as NodeJS.ErrnoException).code;
  const what =
    code === 'ENOENT'
      ? 'no such file'
      : code === 'EISDIR'
        ? 'is a folder, not a file'
        : `cannot be read (${code ?? error})`;
  return place.file === undefined
    ? new EscapementError('E_FILE_MISSING', what, { file: path })
    : new EscapementError('E_FILE_MISSING', `${path}: ${what}`, place);
}
