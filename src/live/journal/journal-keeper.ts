import { REAL_DISK } from '../../base/files/real-disk.js';
import type { Disk, DiskAndTime } from '../../base/world/disk.js';
import { REAL_TIME } from '../../base/world/real-time.js';
import type { Timer } from '../../base/world/time.js';

/** Interval at which the current journal is touched and the others are checked. */
const ROUND_MS = 30_000;
/** Age from which an untouched journal counts as abandoned: no server is ever too busy for that long. */
const ABANDONED_MS = 300_000;

interface KeeperEvents {
  /** Reports a deleted journal. */
  deleted(path: string, bytes: number): void;
  /** Reports, once, that the current journal alone exceeds the limit for all. */
  outgrown(path: string, bytes: number): void;
}

/**
 * Deletes the oldest journals of a name while their total size exceeds the limit: never the current one, and none that
 * another server writes, on this or another machine: each touches its own as long as it runs.
 */
export class JournalKeeper {
  private readonly disk: Disk;
  private readonly timer: Timer;
  private outgrown = false;

  /** `path`: current journal; `mostBytes`: limit for all journals of the name, null: none. */
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
