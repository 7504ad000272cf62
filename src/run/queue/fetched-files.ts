import { createHash } from 'node:crypto';
import { mkdtemp, open, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { EscapementError } from '../../base/errors.js';
import { GIB } from '../../base/units.js';
import { type Blob, PIECE_BYTES } from './messages.js';
import { KEYS } from './names.js';
import { indexes } from './published-files.js';

/** Size beyond which files unused by running cells are removed. */
const MOST_KEPT_BYTES = GIB;
/** Longest time that a piece may be missing: a sweep that is still there sends it again within seconds. */
const PATIENCE_MS = 60_000;
const POLL_MS = 500;
/** Number of times that content may differ from its digest. */
const MOST_WRONG = 3;

const NOTHING = Buffer.alloc(0);

interface Kept {
  readonly bytes: number;
  readonly path: Promise<string>;
  users: number;
}

/** Files from the server in a folder of this process, each checked against its SHA-256 before use. */
export class FetchedFiles {
  private readonly kept = new Map<string, Kept>();

  private constructor(
    private readonly client: Redis,
    private readonly dir: string,
    private readonly patienceMs: number,
  ) {}

  static async open(client: Redis, patienceMs = PATIENCE_MS): Promise<FetchedFiles> {
    return new FetchedFiles(client, await mkdtemp(join(tmpdir(), 'escapement-files-')), patienceMs);
  }

  /**
   * Calls `use` with the path of each file, all of which stay until it ends. Throws `E_QUEUE` if one is unavailable.
   */
  async with<T>(
    wanted: readonly { readonly blob: Blob; readonly suffix: string }[],
    use: (paths: readonly string[]) => Promise<T>,
  ): Promise<T> {
    const held = wanted.map(({ blob, suffix }) => this.hold(blob, suffix));
    try {
      return await use(await Promise.all(held.map(({ path }) => path)));
    } finally {
      for (const one of held) one.users--;
      await this.evict();
    }
  }

  async close(): Promise<void> {
    await rm(this.dir, { recursive: true, force: true });
  }

  private hold(blob: Blob, suffix: string): Kept {
    const name = `${blob.sha256}${suffix}`;
    const before = this.kept.get(name);
    const one = before ?? { bytes: blob.bytes, path: this.fetch(blob, join(this.dir, name)), users: 0 };
    one.users++;
    // Moves it to the end: the last one used is the last one removed.
    this.kept.delete(name);
    this.kept.set(name, one);
    if (before === undefined) one.path.catch(() => this.kept.delete(name));
    return one;
  }

  private async fetch(blob: Blob, path: string): Promise<string> {
    const partial = `${path}.partial`;
    for (let wrong = 0; wrong < MOST_WRONG; wrong++) {
      if ((await this.download(blob, partial)) === blob.sha256) {
        await rename(partial, path);
        return path;
      }
      // The sweep sends it again.
      await this.client.unlink(...indexes(blob).map((index) => KEYS.piece(blob.sha256, index)));
    }
    throw lost(blob, 'comes with other content than it should have');
  }

  /** Writes the file, and returns the digest of the received content. */
  private async download(blob: Blob, path: string): Promise<string> {
    const hash = createHash('sha256');
    const file = await open(path, 'w');
    try {
      for (const index of indexes(blob)) {
        const piece = await this.piece(blob, index);
        hash.update(piece);
        await file.write(piece);
      }
    } finally {
      await file.close();
    }
    return hash.digest('hex');
  }

  private async piece(blob: Blob, index: number): Promise<Buffer> {
    const key = KEYS.piece(blob.sha256, index);
    const lastMs = performance.now() + this.patienceMs;
    for (;;) {
      // Reads at most a piece of whatever is there; nothing if it is not a string.
      const piece = await this.client.getrangeBuffer(key, 0, PIECE_BYTES - 1).catch(() => NOTHING);
      if (piece.length > 0 || (blob.bytes === 0 && (await this.client.exists(key)) === 1)) return piece;
      if (performance.now() > lastMs) throw lost(blob, 'is not in the queue any more');
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  private async evict(): Promise<void> {
    let bytes = [...this.kept.values()].reduce((sum, one) => sum + one.bytes, 0);
    for (const [name, one] of [...this.kept]) {
      if (bytes <= MOST_KEPT_BYTES) return;
      if (one.users > 0) continue;
      this.kept.delete(name);
      bytes -= one.bytes;
      await rm(join(this.dir, name), { force: true });
    }
  }
}

function lost({ sha256, bytes }: Blob, how: string): EscapementError {
  return new EscapementError('E_QUEUE', `a file of ${bytes} bytes with SHA-256 ${sha256} ${how}`);
}
