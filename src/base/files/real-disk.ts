import { closeSync, createWriteStream, openSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { constants, createGzip, type Gzip } from 'node:zlib';
import type { Appender, Disk } from '../world/disk.js';
import { isFile } from './is-file.js';
import { createNumbered, numberedFiles } from './numbered-files.js';

/** The file system of this machine. */
export const REAL_DISK: Disk = {
  append: (name, failed) => new FileAppender(name, failed),
  numbered: numberedFiles,
  touch,
  remove,
};

/** Appends to a file; data written before a crash can be decompressed. */
class FileAppender implements Appender {
  readonly path: string;
  private readonly file: Writable;
  private readonly gzip: Gzip | null;

  constructor(name: string, failed: (cause: Error) => void) {
    const { path, fd } = createNumbered(name);
    this.path = path;
    this.file = createWriteStream(path, { fd });
    this.file.on('error', failed);
    this.gzip = path.endsWith('.gz') ? createGzip() : null;
    this.gzip?.pipe(this.file);
  }

  get unwrittenBytes(): number {
    return this.sink.writableLength;
  }

  write(text: string): void {
    this.sink.write(text);
    this.gzip?.flush(constants.Z_SYNC_FLUSH);
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      if (this.file.closed) resolve();
      else this.file.once('close', resolve);
      this.sink.end();
    });
  }

  destroy(): void {
    this.gzip?.destroy();
    this.file.destroy();
  }

  private get sink(): Writable {
    return this.gzip ?? this.file;
  }
}

/** Time of the file system, which all its writers share, not of this machine's clock. */
function touch(path: string): number | null {
  try {
    // Opening a pipe would wait for a reader.
    if (!isFile(path)) return null;
    const fd = openSync(path, 'r+');
    try {
      const first = Buffer.alloc(1);
      if (readSync(fd, first, 0, 1, 0) === 1) writeSync(fd, first, 0, 1, 0);
    } finally {
      closeSync(fd);
    }
    return statSync(path).mtimeMs;
  } catch {
    return null;
  }
}

/** Deletes a file; false also if another process was faster. */
function remove(path: string): boolean {
  try {
    if (!isFile(path)) return false;
    rmSync(path);
    return true;
  } catch {
    return false;
  }
}
