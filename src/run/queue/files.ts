import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { EscapementError } from '../../base/errors.js';
import { fileDigest } from '../../base/files/file-digest.js';
import { inputPath } from '../../base/files/input-path.js';
import { GIB, MIB } from '../../base/units.js';
import { type Blob, KEPT_S, KEYS, MOST_FILE_BYTES } from './messages.js';

/** Files of a sweep in the server, by SHA-256; they expire unless renewed. Throws `E_QUEUE` if not shareable. */
export class PublishedFiles {
  private readonly reads = new Map<string, () => Promise<Buffer>>();
  private readonly uploads = new Map<string, Promise<void>>();

  constructor(private readonly client: Redis) {}

  /** Makes a text available. */
  addText(text: string): Promise<Blob> {
    const bytes = Buffer.from(text);
    return this.add({ sha256: digestOf(bytes), bytes: bytes.length }, () => Promise.resolve(bytes));
  }

  /** Makes a file available. */
  async addFile(path: string): Promise<Blob> {
    const blob = await blobOf(path);
    return this.add(blob, async () => {
      const bytes = await readFile(inputPath(path));
      if (digestOf(bytes) === blob.sha256) return bytes;
      const what = 'has changed while the sweep ran: start it again';
      throw new EscapementError('E_QUEUE', what, { file: path });
    });
  }

  /** Renews all files, and sends again those that the server has lost. */
  async renew(): Promise<void> {
    for (const sha256 of this.reads.keys()) {
      await this.uploads.get(sha256);
      if ((await this.client.expire(KEYS.file(sha256), KEPT_S)) === 0) await this.upload(sha256);
    }
  }

  /** Removes them. Another sweep that uses one sends it again. */
  async remove(): Promise<void> {
    const keys = [...this.reads.keys()].map(KEYS.file);
    this.reads.clear();
    if (keys.length > 0) await this.client.unlink(...keys);
  }

  private async add(blob: Blob, read: () => Promise<Buffer>): Promise<Blob> {
    const { sha256 } = blob;
    if (!this.reads.has(sha256)) this.reads.set(sha256, read);
    const upload = this.uploads.get(sha256) ?? this.upload(sha256);
    this.uploads.set(sha256, upload);
    await upload.catch((error) => {
      this.uploads.delete(sha256);
      throw error;
    });
    return blob;
  }

  private async upload(sha256: string): Promise<void> {
    await this.client.set(KEYS.file(sha256), await this.reads.get(sha256)!(), 'EX', KEPT_S);
  }
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

/** Size beyond which files unused by running cells are removed. */
const MOST_KEPT_BYTES = GIB;
/** Longest time that a file may be missing: a sweep that is still there sends it again within seconds. */
const PATIENCE_MS = 60_000;
const POLL_MS = 500;
/** Number of times that content may differ from its digest. */
const MOST_WRONG = 3;

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
    for (let wrong = 0; wrong < MOST_WRONG; wrong++) {
      const content = await this.contentOf(blob);
      if (digestOf(content) === blob.sha256) {
        await writeFile(path, content);
        return path;
      }
      // The sweep sends it again.
      await this.client.unlink(KEYS.file(blob.sha256));
    }
    throw lost(blob, 'comes with other content than it should have');
  }

  private async contentOf(blob: Blob): Promise<Buffer> {
    const key = KEYS.file(blob.sha256);
    const lastMs = performance.now() + this.patienceMs;
    for (;;) {
      // Reads at most a byte more than the file has of whatever is there; nothing if it is not a string.
      const content = await this.client.getrangeBuffer(key, 0, blob.bytes).catch(() => Buffer.alloc(0));
      if (content.length > 0 || (blob.bytes === 0 && (await this.client.exists(key)) === 1)) return content;
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

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function lost({ sha256, bytes }: Blob, how: string): EscapementError {
  return new EscapementError('E_QUEUE', `a file of ${bytes} bytes with SHA-256 ${sha256} ${how}`);
}
