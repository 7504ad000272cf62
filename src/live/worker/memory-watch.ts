import { MIB, NS_PER_MS } from '../../base/units.js';
import { Backoff } from '../backoff.js';
import type { DeviceMemory } from '../device.js';

/** Consecutive readings that count: a LOAD or UNLOAD in progress is over by the second. */
const READINGS = 2;
/** Shortest and longest time between two restarts: one that does not help is not repeated all the time. */
const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 3_600_000;

/**
 * Compares the memory of a device that is in use with what its weights cache accounts for. `start` is the rest when its
 * threads began, or the least since: libraries, and other processes.
 */
export class MemoryWatch {
  /** Bytes in use by purpose; null: not known yet. */
  use: Readonly<Record<'weights' | 'start' | 'unaccounted', number>> | null = null;
  private threads: unknown;
  private startBytes = 0;
  private above = 0;
  private readonly pauses = new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  private pausedUntilNs = 0;

  /** `mostShare`: share of the device's memory that may be unaccounted for. */
  constructor(private readonly mostShare: number) {}

  /** Returns why these threads of the GPU have to be restarted; empty: they need not. */
  take(threads: unknown, { usedBytes, totalBytes }: DeviceMemory, weights: number, nowNs: number): string {
    const restBytes = Math.max(0, usedBytes - weights);
    this.startBytes = threads === this.threads ? Math.min(this.startBytes, restBytes) : restBytes;
    this.threads = threads;
    const unaccounted = restBytes - this.startBytes;
    this.use = { weights, start: this.startBytes, unaccounted };
    this.above = unaccounted > this.mostShare * totalBytes ? this.above + 1 : 0;
    if (this.above < READINGS || nowNs < this.pausedUntilNs) return '';
    this.above = 0;
    this.pausedUntilNs = nowNs + this.pauses.delayMs(nowNs) * NS_PER_MS;
    const share = `${Math.round(this.mostShare * 100)}%`;
    return `${Math.round(unaccounted / MIB)} MiB of its memory are in use that nothing accounts for, more than ${share} (runtime.memoryLeak)`;
  }
}
