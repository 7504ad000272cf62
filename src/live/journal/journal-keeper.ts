import { REAL_DISK } from '../../base/files/real-disk.js';
import type { Disk, DiskAndTime } from '../../base/world/disk.js';
import { REAL_TIME } from '../../base/world/real-time.js';
import type { Timer } from '../../base/world/time.js';

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
  private readonly disk: Disk;
  private readonly timer: Timer;
  private outgrown = false;

  /** `path`: what is being written; `mostBytes`: of all journals of the name, null: no limit. */
  constructor(
    private readonly name: string,
    private readonly path: string,
    private readonly mostBytes: number | null,
    private readonly events: KeeperEvents,
    { disk = REAL_DISK, time = REAL_TIME }: DiskAndTime = {},
  ) {
    this.disk = disk;
    this.look();
    this.timer = time.every(ROUND_MS, () => this.look()).unref();
  }

  close(): void {
    this.timer.cancel();
  }

  private look(): void {
    const nowMs = this.disk.touch(this.path);
    if (nowMs !== null && this.mostBytes !== null) this.prune(this.mostBytes, nowMs);
  }

  private prune(mostBytes: number, nowMs: number): void {
    const files = this.disk.numbered(this.name);
    let bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    for (const file of files) {
      if (bytes <= mostBytes) return;
      if (file.path === this.path) this.tellOutgrown(file.bytes, mostBytes);
      else if (nowMs - file.touchedMs > ABANDONED_MS && this.disk.remove(file.path)) {
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
