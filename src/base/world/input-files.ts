/** What a program reads as input, wherever it lies: on disk, or in the memory of a web page. Text is UTF-8. */
export interface InputFiles {
  /** A whole file. Throws `E_FILE_MISSING`. */
  text(path: string): Promise<string>;
  /**
   * The bytes of a file as they come, unpacked if its name ends in `.gz`. `start` skips bytes of an unpacked file.
   * Throws `E_FILE_MISSING`, and `E_FILE_TRUNCATED` for packed data that ends early or is corrupt.
   */
  bytes(path: string, start?: number): AsyncIterable<Uint8Array>;
  /** Throws `E_FILE_MISSING`. */
  stat(path: string): Promise<InputStat>;
  /** Keeps what was made of files for runs to come. Absent: nothing is kept. */
  readonly parsed?: KeptValues;
}

/** What was made of files. */
export interface KeptValues {
  /** What `parse` makes of a file, now or earlier. Rejects as it does. */
  of<T>(files: InputFiles, path: string, parse: ParseFile<T>): Promise<T>;
}

/** Reads a file and makes something of it, which is not changed later. One function for each such thing. */
export type ParseFile<T> = (files: InputFiles, path: string) => Promise<T>;

/** What is known of a file without reading it. */
export interface InputStat {
  /** Its length, packed if it is packed. */
  readonly bytes: number;
  /** Changes with its content. */
  readonly version: string;
}
