import { closeSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { EscapementError } from '../core/errors.js';

/** Text is handed to the system in chunks of at least this many characters. */
const CHUNK_CHARS = 256 * 1024;

/**
 * A text file that is written bit by bit under the name `PATH.partial` and gets its own name when it
 * is complete, so that nothing half-written looks finished. Folders are made as needed. Every member
 * throws `E_FILE_WRITE` when the system refuses.
 */
export class OutputFile {
  private readonly partialPath: string;
  private fd = -1;
  private pending = '';

  constructor(readonly path: string) {
    this.partialPath = `${path}.partial`;
    this.attempt(() => {
      mkdirSync(dirname(path), { recursive: true });
      this.fd = openSync(this.partialPath, 'w');
    });
  }

  write(text: string): void {
    this.pending += text;
    if (this.pending.length >= CHUNK_CHARS) this.flush();
  }

  /** Writes what is left and gives the file its name. */
  close(): void {
    this.flush();
    this.attempt(() => {
      closeSync(this.fd);
      this.fd = -1;
      renameSync(this.partialPath, this.path);
    });
  }

  /** Drops an unfinished file; does nothing after `close`. */
  discard(): void {
    if (this.fd < 0) return;
    closeSync(this.fd);
    this.fd = -1;
    rmSync(this.partialPath, { force: true });
  }

  private flush(): void {
    const bytes = Buffer.from(this.pending);
    this.pending = '';
    this.attempt(() => {
      for (let done = 0; done < bytes.length; ) done += writeSync(this.fd, bytes, done);
    });
  }

  private attempt(step: () => void): void {
    try {
      step();
    } catch (cause) {
      this.discard();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new EscapementError('E_FILE_WRITE', `cannot be written: ${reason}`, { file: this.path });
    }
  }
}
