import { createWriteStream, rmSync, statSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { constants, createGzip, type Gzip } from 'node:zlib';
import type { EscapementError } from '../errors.js';
import { createNumbered } from './numbered-files.js';
import { cannotWrite } from './output-file.js';

/** Text is handed to the system when this much has gathered, and in any case after so long. */
const CHUNK_CHARS = 64 * 1024;
const LONGEST_WAIT_MS = 500;
/** A disk that falls this far behind does not catch up. */
const MOST_UNWRITTEN_BYTES = 256 * 1024 * 1024;

/**
 * A file that a server writes for as long as it lives, under its own name from the start: a crash costs the last
 * second at most. Nothing waits for the disk. Packed if the name ends in `.gz`; what was packed until a crash can
 * be unpacked. A file that exists stays as it is: the new one gets the next number, `NAME.1`, `NAME.2` and so on.
 *
 * The constructor throws `E_FILE_WRITE`. If the system refuses later, `onFailure` is called once and nothing more is
 * written.
 */
export class GrowingFile {
  /** The name that it got. */
  readonly path: string;
  private readonly file: Writable;
  private readonly gzip: Gzip | null;
  private pending = '';
  private timer: NodeJS.Timeout | null = null;
  private failed = false;
  private closed = false;

  constructor(
    name: string,
    private readonly onFailure: (error: EscapementError) => void,
  ) {
    const { path, fd } = openNext(name);
    this.path = path;
    this.file = createWriteStream(path, { fd });
    this.file.on('error', (cause) => this.fail(cause));
    this.gzip = path.endsWith('.gz') ? createGzip() : null;
    this.gzip?.pipe(this.file);
  }

  /** Does nothing after `close`. */
  write(text: string): void {
    if (this.failed || this.closed) return;
    this.pending += text;
    if (this.pending.length >= CHUNK_CHARS) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), LONGEST_WAIT_MS).unref();
  }

  /** Hands what has gathered to the system. */
  flush(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const text = this.pending;
    this.pending = '';
    if (text === '' || this.failed) return;
    const sink = this.gzip ?? this.file;
    sink.write(text);
    this.gzip?.flush(constants.Z_SYNC_FLUSH);
    if (sink.writableLength > MOST_UNWRITTEN_BYTES) this.fail(new Error('the disk is too slow'));
  }

  /** Resolves when all is written, or writing has failed. */
  close(): Promise<void> {
    this.flush();
    this.closed = true;
    return new Promise((resolve) => {
      if (this.file.closed) resolve();
      else this.file.once('close', resolve);
      (this.gzip ?? this.file).end();
    });
  }

  /** After `close`: deletes it, unless it is a pipe or a device. */
  remove(): void {
    if (statSync(this.path, { throwIfNoEntry: false })?.isFile() === true) rmSync(this.path, { force: true });
  }

  private fail(cause: Error): void {
    if (this.failed) return;
    this.failed = true;
    this.pending = '';
    this.gzip?.destroy();
    this.file.destroy();
    this.onFailure(cannotWrite(this.path, cause));
  }
}

function openNext(name: string): { readonly path: string; readonly fd: number } {
  try {
    return createNumbered(name);
  } catch (cause) {
    throw cannotWrite(name, cause);
  }
}
