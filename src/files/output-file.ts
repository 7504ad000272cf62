// The only place of src that writes files. This folder is a leaf: it imports core and nothing else of ours,
// and every folder but core, policies, random and sim may import it.
import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { EscapementError } from '../core/errors.js';
import { makeFolder } from './make-folder.js';

/** Text is handed to the system in chunks of at least this many characters. */
const CHUNK_CHARS = 256 * 1024;

/**
 * A file that is written bit by bit under the name `PATH.partial` and gets its own name when it is
 * complete, so that nothing half-written looks finished. Folders are made as needed. Synchronous on
 * purpose: no signal handler runs in the middle. Every member throws `E_FILE_WRITE` when the system refuses.
 */
export class OutputFile {
  private readonly partialPath: string;
  private fd = -1;
  private pending = '';
  private finished = false;

  constructor(readonly path: string) {
    this.partialPath = `${path}.partial`;
    this.attempt(() => {
      makeFolder(dirname(path));
      this.fd = openSync(this.partialPath, 'w');
    });
  }

  write(content: string | Uint8Array): void {
    if (typeof content !== 'string') {
      this.flush();
      this.put(content);
      return;
    }
    this.pending += content;
    if (this.pending.length >= CHUNK_CHARS) this.flush();
  }

  /** Writes what is left and gives the file its name. */
  close(): void {
    this.flush();
    this.attempt(() => {
      this.release();
      renameSync(this.partialPath, this.path);
    });
    this.finished = true;
  }

  /** Drops an unfinished file; does nothing after `close`. */
  discard(): void {
    if (this.finished) return;
    this.finished = true;
    try {
      this.release();
      rmSync(this.partialPath, { force: true });
    } catch {
      // Part of the path is a file, or the disk is gone: what made us give up is the error to tell.
    }
  }

  private flush(): void {
    const text = this.pending;
    this.pending = '';
    if (text !== '') this.put(Buffer.from(text));
  }

  private put(bytes: Uint8Array): void {
    this.attempt(() => {
      for (let done = 0; done < bytes.length; ) done += writeSync(this.fd, bytes, done);
    });
  }

  private release(): void {
    const { fd } = this;
    this.fd = -1;
    if (fd >= 0) closeSync(fd);
  }

  private attempt(step: () => void): void {
    try {
      step();
    } catch (cause) {
      this.discard();
      throw cannotWrite(this.path, cause);
    }
  }
}

/**
 * Writes a whole file at once: the name either holds all of `content` or what it held before. Throws
 * `E_FILE_WRITE`.
 */
export function writeWhole(path: string, content: string | Uint8Array): void {
  const file = new OutputFile(path);
  file.write(content);
  file.close();
}

/** Throws `E_FILE_WRITE` where a file could not be written: before the work whose result it is to hold, not after. */
export function checkWritable(path: string): void {
  new OutputFile(path).discard();
}

/** The error for an operator of a file or folder that the system does not let us write. */
export function cannotWrite(path: string, cause: unknown): EscapementError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new EscapementError('E_FILE_WRITE', `cannot be written: ${reason}`, { file: path });
}
