import type { Time } from './time.js';

/** One of the files that share a name: `NAME`, `NAME.1`, `NAME.2` and so on. A final `.gz` stays at the end. */
export interface NumberedFile {
  readonly path: string;
  /** 0 for `NAME` itself. */
  readonly number: number;
  readonly bytes: number;
  /** Time of the last write or touch, ms since 1970. */
  readonly touchedMs: number;
}

/** A file that grows throughout a process's life. Nothing waits for the disk. */
export interface Appender {
  /** Name of the file created. */
  readonly path: string;
  /** Bytes written that the disk has not taken yet. */
  readonly unwrittenBytes: number;
  /** Writes text, which reaches the disk whole or, after a crash, cut off at some byte. */
  write(text: string): void;
  /** Resolves when everything is passed to the disk, or the disk has refused. */
  close(): Promise<void>;
  /** Discards unwritten text. */
  destroy(): void;
}

/** Disk operations of a running server: the real one is `REAL_DISK`. */
export interface Disk {
  /**
   * Creates and opens the next file of a name, after all existing ones; compressed if the name ends in `.gz`. A pipe or
   * a device is opened as it is. Throws the system's error; `failed` is called with later ones.
   */
  append(name: string, failed: (cause: Error) => void): Appender;
  /** Existing files of a name, oldest first. */
  numbered(name: string): readonly NumberedFile[];
  /**
   * Updates a file's modification time, and returns the time of the file system, ms since 1970. Null if it does not
   * exist.
   */
  touch(path: string): number | null;
  /** Deletes a regular file. False if it is none, or the system refuses. */
  remove(path: string): boolean;
}

/** Machine services used by a long-lived file. Default: the real ones. */
export interface DiskAndTime {
  readonly disk?: Disk;
  readonly time?: Time;
}
