import { closeSync, openSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import { numberedFiles } from '../../base/files/numbered-files.js';

/** How often a journal that is being written is touched, and the others are looked at. */
const ROUND_MS = 30_000;
/** No server writes a journal that was not touched for so long: none is ever too busy for that long. */
const ABANDONED_MS = 300_000;

export interface KeeperEvents {
  /** A journal was deleted. */
  deleted(path: string, bytes: number): void;
  /** What is being written has become larger by itself than all journals may be. Called once. */
  outgrown(path: string, bytes: number): void;
}

/**
 * Deletes the oldest journals of a name while all of them together are larger than they may be: never the one that
 * is being written, and none that another server writes, on this or another machine: each touches its own as long as it
 * runs.
 */
export class JournalKeeper {
  private readonly timer: NodeJS.Timeout;
  private outgrown = false;

  /** `path`: what is being written; `mostBytes`: of all journals of the name, null: no limit. */
  constructor(
    private readonly name: string,
    private readonly path: string,
    private readonly mostBytes: number | null,
    private readonly events: KeeperEvents,
  ) {
    this.look();
    this.timer = setInterval(() => this.look(), ROUND_MS).unref();
  }

  close(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    const nowMs = touch(this.path);
    if (nowMs !== null && this.mostBytes !== null) this.prune(this.mostBytes, nowMs);
  }

  private prune(mostBytes: number, nowMs: number): void {
    const files = numberedFiles(this.name);
    let bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    for (const file of files) {
      if (bytes <= mostBytes) return;
      if (file.path === this.path) this.tellOutgrown(file.bytes, mostBytes);
      else if (nowMs - file.touchedMs > ABANDONED_MS && removed(file.path)) {
        bytes -= file.bytes;
        this.events.deleted(file.path, file.bytes);
      }
    }
  }

  private tellOutgrown(bytes: number, mostBytes: number): void {
    if (this.outgrown || bytes <= mostBytes) return;
    this.outgrown = true;
    this.events.outgrown(this.path, bytes);
  }
}

/**
 * Makes a file look as if it was just written, and returns the time, ms since 1970. It is the time of the file system,
 * which all its writers share, not of this machine's clock. Null: there is no such file.
 */
function touch(path: string): number | null {
  try {
    // A pipe would have to be read by somebody before it could be opened.
    if (!statSync(path).isFile()) return null;
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

/** False: another server was quicker, or the folder does not let us. */
function removed(path: string): boolean {
  try {
    rmSync(path);
    return true;
  } catch {
    return false;
  }
}
