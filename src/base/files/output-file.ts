// Output files are written whole or not at all.
import { randomUUID } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { EscapementError } from '../errors.js';
import { makeFolder } from './make-folder.js';

/** Minimum size of the chunks of text passed to the system, in characters. */
const CHUNK_CHARS = 256 * 1024;
/** Time after which a partial file that has not grown counts as abandoned: its writer was killed. */
const ABANDONED_MS = 24 * 3600 * 1000;
const PARTIAL = /\.[0-9a-f-]{36}\.partial$/;
/** Folders in which this process has looked for abandoned files. */
const tidied = new Set<string>();

/**
 * A file that is written under a name of its own, `PATH.….partial`, and renamed when complete, so that nothing
 * half-written looks finished, and of several writers, also on other machines, one wins. The first file of a process in a
 * folder removes those that killed writers left there. Folders are made as needed. A link stays a link: its target is
 * replaced. Pipes and devices are written in place.
 * Synchronous, so that no signal handler runs in between. Every member throws `E_FILE_WRITE` when the system refuses.
 */
export class OutputFile {
  /** Null if written in place, because this is no regular file. */
  private partialPath: string | null = null;
  private finalPath = '';
  private fd = -1;
  private pending = '';
  private finished = false;

  constructor(readonly path: string) {
    this.attempt(() => {
      const destination = destinationOf(path);
      this.finalPath = destination.path;
      if (!destination.inPlace) {
        makeFolder(dirname(this.finalPath));
        this.partialPath = `${this.finalPath}.${randomUUID()}.partial`;
      }
      // A file written in place may be standard output, which already has text.
      this.fd = this.partialPath === null ? openSync(this.finalPath, 'a') : openSync(this.partialPath, 'w');
      if (this.partialPath !== null) removeAbandoned(dirname(this.finalPath), fstatSync(this.fd).mtimeMs);
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

  /** Writes the rest and renames the file. */
  close(): void {
    this.flush();
    this.attempt(() => {
      this.release();
      if (this.partialPath !== null) renameSync(this.partialPath, this.finalPath);
    });
    this.finished = true;
  }

  /** Drops an unfinished file; does nothing after `close`. */
  discard(): void {
    if (this.finished) return;
    this.finished = true;
    try {
      this.release();
      if (this.partialPath !== null) rmSync(this.partialPath, { force: true });
    } catch {
      // Part of the path is a file, or the disk is gone: the first error is the one to report.
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
 * Writes a whole file at once: the name holds either all of `content` or its previous content. Throws `E_FILE_WRITE`.
 */
export function writeWhole(path: string, content: string | Uint8Array): void {
  const file = new OutputFile(path);
  file.write(content);
  file.close();
}

/** Throws `E_FILE_WRITE` if a file could not be written: before the work whose result it is to hold, not after. */
export function checkWritable(path: string): void {
  if (!isWrittenInPlace(path)) new OutputFile(path).discard();
}

/**
 * True for a pipe or a device, found without opening it: a pipe's reader would see its input end. Throws
 * `E_FILE_WRITE`.
 */
function isWrittenInPlace(path: string): boolean {
  try {
    const destination = destinationOf(path);
    if (destination.inPlace) accessSync(destination.path, constants.W_OK);
    return destination.inPlace;
  } catch (cause) {
    throw cannotWrite(path, cause);
  }
}

/** Error for an operator about a file or folder that the system refuses to write. */
export function cannotWrite(path: string, cause: unknown): EscapementError {
  const reason = cause instanceof Error ? reasonOf(path, cause) : String(cause);
  return new EscapementError('E_FILE_WRITE', `cannot be written: ${reason}`, { file: path });
}

function reasonOf(path: string, { code, message, path: at = path }: NodeJS.ErrnoException): string {
  if (code === 'EEXIST') {
    return `${resolve(at) === resolve(path) ? 'it' : at} is a file, not a folder; choose another folder`;
  }
  if (code === 'ENOENT') return `the system allows no new files or folders in ${dirname(at)}`;
  // Node writes `EACCES: permission denied, open 'FILE'`.
  const [, meaning = message] = /^\w+: ([^,]+)/.exec(message) ?? [];
  return code === undefined ? message : `${meaning} (${code})`;
}

/** Removes the abandoned partial files of a folder, as far as the system lets us. */
function removeAbandoned(folder: string, nowMs: number): void {
  if (tidied.has(folder)) return;
  tidied.add(folder);
  try {
    for (const name of readdirSync(folder).filter((each) => PARTIAL.test(each))) {
      const path = join(folder, name);
      if (nowMs - lstatSync(path).mtimeMs > ABANDONED_MS) rmSync(path, { force: true });
    }
  } catch {
    // Another process has removed it, or it belongs to somebody else.
  }
}

/** Destination of an output file's text. */
interface Destination {
  /** Path with its final links resolved. */
  readonly path: string;
  /** True for a pipe or a device, which must not be replaced by renaming. */
  readonly inPlace: boolean;
}

/** System links to a process's open files, such as `/dev/stdout`, even if that is a regular file. */
const SYSTEM_FOLDERS = /^\/(?:dev|proc)\//;

/** Follows links, even to a missing file. Throws the system's error, and one for paths that cannot be a file. */
function destinationOf(path: string): Destination {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there?.isDirectory()) throw new Error('it is a folder');
  if (there?.isSocket()) throw new Error('it is a socket');
  if (there !== undefined && !there.isFile()) return { path, inPlace: true };
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return { path, inPlace: false };
  if (SYSTEM_FOLDERS.test(resolve(path))) return { path, inPlace: true };
  return destinationOf(resolve(realpathSync(dirname(path)), readlinkSync(path)));
}
