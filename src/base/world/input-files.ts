/** Input files of a program, on disk or in the memory of a web page. Text is UTF-8. */
export interface InputFiles {
  /** Reads a whole file. Throws `E_FILE_MISSING`. */
  text(path: string): Promise<string>;
  /**
   * Streams the bytes of a file, decompressed if its name ends in `.gz` or, on disk, `.zst`. `start` skips bytes of an uncompressed file.
   * Throws `E_FILE_MISSING`, and `E_FILE_TRUNCATED` for compressed data that ends early or is corrupt.
   */
  bytes(path: string, start?: number): AsyncIterable<Uint8Array>;
  /** Throws `E_FILE_MISSING`. */
  stat(path: string): Promise<InputStat>;
  /** Cache of parsed files for later runs. Absent: nothing is kept. */
  readonly parsed?: KeptValues;
}

/** Cache of values parsed from files. */
export interface KeptValues {
  /** Result of `parse` on a file, new or cached. Rejects as `parse` does. */
  of<T>(files: InputFiles, path: string, parse: ParseFile<T>): Promise<T>;
}

/** Parses a file into a value that is not changed later. One function per kind of value. */
export type ParseFile<T> = (files: InputFiles, path: string) => Promise<T>;

/** Metadata of a file. */
export interface InputStat {
  /** Length, compressed if the file is. */
  readonly bytes: number;
  /** Changes with the content. */
  readonly version: string;
}
