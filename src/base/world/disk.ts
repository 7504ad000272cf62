import type { Time } from './time.js';

/** One of the files that share a name: `NAME`, `NAME.1`, `NAME.2` and so on. A final `.gz` stays at the end. */
export interface NumberedFile {
  readonly path: string;
  /** 0 for `NAME` itself. */
  readonly number: number;
  readonly bytes: number;
  /** When it was written or touched last, ms since 1970. */
  readonly touchedMs: number;
}

/** A file that grows for as long as a process lives. Nothing waits for the disk. */
export interface Appender {
  /** The name that it got. */
  readonly path: string;
  /** So much was written that the disk has not taken yet. */
  readonly unwrittenBytes: number;
  /** Text is handed to the disk as a whole or, after a crash, up to some byte. */
  write(text: string): void;
  /** Resolves when all is on its way to the disk, or the disk has refused. */
  close(): Promise<void>;
  /** Gives up what was not written yet. */
  destroy(): void;
}

/** The disk as a server writes to it while it runs: the real one is `REAL_DISK`. */
export interface Disk {
  /**
   * Makes the next file of a name, after all that there are, and opens it to be written; packed if the name ends in `.gz`. A pipe or
   * a device is opened as it is. Throws what the system says; `failed` is called with what it says later.
   */
  append(name: string, failed: (cause: Error) => void): Appender;
  /** The files of a name that there are, oldest first. */
  numbered(name: string): readonly NumberedFile[];
  /**
   * Makes a file look as if it was just written, and returns the time of the file system, ms since 1970. Null: there is no such
   * file.
   */
  touch(path: string): number | null;
  /** Deletes a regular file. False: it is none, or the system refuses. */
  remove(path: string): boolean;
}

/** What a file that grows for long takes from its machine. Default: the real ones. */
export interface DiskAndTime {
  readonly disk?: Disk;
  readonly time?: Time;
}
