import { type FileHandle, open } from 'node:fs/promises';
import { EscapementError } from '../../../base/errors.js';

/** Bytes read at once: other work of this thread comes in between. */
const BLOCK_BYTES = 4 * 1024 * 1024;

/** A file in memory of its own, which can be moved to another thread. Rejects with `E_MODEL_FILE`. */
export async function readWhole(path: string): Promise<Uint8Array<ArrayBuffer>> {
  let file: FileHandle | null = null;
  try {
    file = await open(path);
    const { size } = await file.stat();
    const bytes = new Uint8Array(size);
    for (let at = 0; at < size; ) {
      const { bytesRead } = await file.read(bytes, at, Math.min(BLOCK_BYTES, size - at), at);
      if (bytesRead === 0) throw new Error('it has become shorter');
      at += bytesRead;
    }
    return bytes;
  } catch (error) {
    throw new EscapementError('E_MODEL_FILE', `cannot be read: ${(error as Error).message}`, { file: path });
  } finally {
    await file?.close();
  }
}
