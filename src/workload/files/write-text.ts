import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { EscapementError } from '../../core/errors.js';

/**
 * Writes pieces of text to a file as they come, packed if its name ends in `.gz`. The file is called
 * `PATH.partial` until it is complete, so that nothing half-written looks finished. Throws
 * `E_FILE_WRITE`, and whatever the pieces throw.
 */
export async function writeText(path: string, pieces: AsyncIterable<string>): Promise<void> {
  const partial = `${path}.partial`;
  try {
    await mkdir(dirname(path), { recursive: true });
    const text = Readable.from(pieces, { objectMode: false });
    const file = createWriteStream(partial);
    await (path.endsWith('.gz') ? pipeline(text, createGzip(), file) : pipeline(text, file));
    await rename(partial, path);
  } catch (error) {
    // Where even that fails there was nothing to remove, and the first error is the one to tell.
    await rm(partial, { force: true }).catch(() => {});
    throw outputError(error, path);
  }
}

function outputError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  return new EscapementError('E_FILE_WRITE', `cannot be written: ${error.message}`, { file: path });
}
