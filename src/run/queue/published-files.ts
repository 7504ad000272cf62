import { createHash } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import type { Redis } from 'ioredis';
import { EscapementError } from '../../base/errors.js';
import { fileDigest } from '../../base/files/file-digest.js';
import { MIB } from '../../base/units.js';
import { type Blob, MOST_FILE_BYTES, PIECE_BYTES } from './messages.js';
import { KEPT_S, KEYS } from './names.js';

/** Location of a published file's content. */
type Content = { readonly path: string } | { readonly text: Buffer };

/**
 * Files of a sweep in the server, by SHA-256, in pieces that expire unless renewed. Throws `E_QUEUE` if not shareable.
 */
export class PublishedFiles {
  private readonly blobs = new Map<string, { readonly blob: Blob; readonly content: Content }>();
  private readonly texts = new Map<string, Blob>();
  private readonly ready = new Map<string, Promise<void>>();

  constructor(private readonly client: Redis) {}

  /** Makes a text available. */
  async addText(text: string): Promise<Blob> {
    let blob = this.texts.get(text);
    if (blob === undefined) {
      const bytes = Buffer.from(text);
      blob = { sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length };
      this.texts.set(text, blob);
      this.blobs.set(blob.sha256, { blob, content: { text: bytes } });
    }
    await this.uploaded(blob.sha256);
    return blob;
  }

  /** Makes a file available. */
  async addFile(path: string): Promise<Blob> {
    const blob = await blobOf(path);
    if (!this.blobs.has(blob.sha256)) this.blobs.set(blob.sha256, { blob, content: { path } });
    await this.uploaded(blob.sha256);
    return blob;
  }

  /** Renews all pieces, and sends again those that the server has lost. */
  async renew(): Promise<void> {
    for (const [sha256, { blob }] of this.blobs) {
      const pipeline = this.client.pipeline();
      for (const index of indexes(blob)) pipeline.expire(KEYS.piece(sha256, index), KEPT_S);
      const answers = (await pipeline.exec()) ?? [];
      if (answers.every(([error, isThere]) => error === null && isThere === 1)) continue;
      await this.ready.get(sha256);
      await this.upload(sha256);
    }
  }

  /** Removes them. Another sweep that uses one sends it again. */
  async remove(): Promise<void> {
    const keys = [...this.blobs.values()].flatMap(({ blob }) =>
      indexes(blob).map((index) => KEYS.piece(blob.sha256, index)),
    );
    if (keys.length > 0) await this.client.unlink(...keys);
    this.blobs.clear();
  }

  private uploaded(sha256: string): Promise<void> {
    const before = this.ready.get(sha256);
    if (before !== undefined) return before;
    const upload = this.upload(sha256);
    this.ready.set(sha256, upload);
    upload.catch(() => this.ready.delete(sha256));
    return upload;
  }

  private async upload(sha256: string): Promise<void> {
    const { blob, content } = this.blobs.get(sha256)!;
    const send = (index: number, piece: Buffer) =>
      this.client.set(KEYS.piece(sha256, index), piece, 'EX', KEPT_S);
    if ('text' in content) {
      for (const index of indexes(blob)) await send(index, pieceOf(content.text, index));
      return;
    }
    const file = await open(content.path);
    try {
      for (const index of indexes(blob)) {
        const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, blob.bytes - index * PIECE_BYTES));
        const { bytesRead } = await file.read(piece, 0, piece.length, index * PIECE_BYTES);
        if (bytesRead < piece.length) throw changed(content.path);
        await send(index, piece);
      }
    } finally {
      await file.close();
    }
  }
}

/** Indexes of a file's pieces; an empty file has one. */
export function indexes({ bytes }: Blob): number[] {
  return Array.from({ length: Math.max(1, Math.ceil(bytes / PIECE_BYTES)) }, (_, index) => index);
}

function pieceOf(bytes: Buffer, index: number): Buffer {
  return bytes.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES);
}

/** A file identified by its content. Throws `E_QUEUE` if it is too large or not a file. */
export async function blobOf(path: string): Promise<Blob> {
  const { size: bytes } = await stat(path);
  if (bytes > MOST_FILE_BYTES) {
    const what = `has more than ${MOST_FILE_BYTES / MIB} MiB, too much for a queue: put it into a folder that all machines see, and share the sweep with --shard`;
    throw new EscapementError('E_QUEUE', what, { file: path });
  }
  const sha256 = fileDigest(path);
  if (sha256 !== null) return { sha256, bytes };
  const what = 'is no regular file, so a queue cannot send it: copy it into one';
  throw new EscapementError('E_QUEUE', what, { file: path });
}

function changed(path: string): EscapementError {
  return new EscapementError('E_QUEUE', 'has changed while the sweep ran: start it again', { file: path });
}
