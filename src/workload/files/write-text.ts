import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { OutputFile } from '../../base/files/output-file.js';

/**
 * Writes pieces of text to a file as they come, packed if its name ends in `.gz`; the file gets its name
 * when it is complete. Throws `E_FILE_WRITE`, and whatever the pieces throw.
 */
export async function writeText(path: string, pieces: AsyncIterable<string>): Promise<void> {
  const file = new OutputFile(path);
  const fill = async (source: AsyncIterable<string | Uint8Array>) => {
    for await (const piece of source) file.write(piece);
  };
  try {
    await (path.endsWith('.gz') ? pipeline(pieces, createGzip(), fill) : fill(pieces));
    file.close();
  } catch (error) {
    file.discard();
    throw error;
  }
}
