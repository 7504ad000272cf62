import type { EscapementError } from '../errors.js';
import type { Appender, Disk, DiskAndTime } from '../world/disk.js';
import { REAL_TIME } from '../world/real-time.js';
import type { Time, Timer } from '../world/time.js';
import { cannotWrite } from './output-file.js';
import { REAL_DISK } from './real-disk.js';

/** Amount of buffered text, and delay, after which text is passed to the system. */
const CHUNK_CHARS = 64 * 1024;
const LONGEST_WAIT_MS = 500;
/** Backlog after which the disk is considered unable to catch up. */
const MOST_UNWRITTEN_BYTES = 256 * 1024 * 1024;

/**
 * A file that a server writes throughout its life, under its final name, so a crash loses at most the last second.
 * Nothing waits for the disk. Compressed if the name ends in `.gz`; data written before a crash can be decompressed. An
 * existing file is kept: the new one gets the next number, `NAME.1`, `NAME.2` and so on.
 *
 * The constructor throws `E_FILE_WRITE`. If the system refuses later, `onFailure` is called once and nothing more is
 * written.
 */
export class GrowingFile {
  private readonly disk: Disk;
  private readonly time: Time;
  private readonly file: Appender;
  private pending = '';
  private timer: Timer | null = null;
  private failed = false;
  private closed = false;

  constructor(
    name: string,
    private readonly onFailure: (error: EscapementError) => void,
    { disk = REAL_DISK, time = REAL_TIME }: DiskAndTime = {},
  ) {
    this.disk = disk;
    this.time = time;
    try {
      this.file = disk.append(name, (cause) => this.fail(cause));
    } catch (cause) {
      throw cannotWrite(name, cause);
    }
  }

  /** Name of the file created. */
  get path(): string {
    return this.file.path;
  }

  /** Does nothing after `close`. */
  write(text: string): void {
    if (this.failed || this.closed) return;
    this.pending += text;
    if (this.pending.length >= CHUNK_CHARS) this.flush();
    else this.timer ??= this.time.after(LONGEST_WAIT_MS, () => this.flush()).unref();
  }

  /** Passes buffered text to the system. */
  flush(): void {
    this.timer?.cancel();
    this.timer = null;
    const text = this.pending;
    this.pending = '';
    if (text === '' || this.failed) return;
    this.file.write(text);
    if (this.file.unwrittenBytes > MOST_UNWRITTEN_BYTES) this.fail(new Error('the disk is too slow'));
  }

  /** Resolves when everything is written, or writing has failed. */
  close(): Promise<void> {
    this.flush();
    this.closed = true;
    return this.file.close();
  }

  /** After `close`: deletes the file, unless it is a pipe or a device. */
  remove(): void {
    this.disk.remove(this.path);
  }

  private fail(cause: Error): void {
    if (this.failed) return;
    this.failed = true;
    this.pending = '';
    this.file.destroy();
    this.onFailure(cannotWrite(this.path, cause));
  }
}
