import { readFileSync } from 'node:fs';
import { NS_PER_MS } from '../../base/units.js';

/**
 * Calls `expired` if a process gives no sign of life for the limit, counted from its first one. Time in which it was
 * runnable, but others had the CPU, does not count: `cpuWaitMs` returns its total so far.
 */
export class RuntimeWatch {
  isOver = false;
  private timer: NodeJS.Timeout | undefined;
  private signs = 0;
  private waitedMs = 0;

  constructor(
    readonly limitMs: number,
    private readonly cpuWaitMs: () => number,
    private readonly expired: () => void,
  ) {}

  heard(): void {
    this.signs++;
    this.waitedMs = this.cpuWaitMs();
    this.checkAfter(this.limitMs);
  }

  end(): void {
    clearTimeout(this.timer);
  }

  private checkAfter(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), ms);
  }

  /** If this thread was itself delayed, signs of life are still unread. */
  private check(): void {
    const { signs, waitedMs } = this;
    setImmediate(() => {
      if (this.signs > signs) return;
      this.waitedMs = this.cpuWaitMs();
      const owedMs = this.waitedMs - waitedMs;
      if (owedMs >= 1) return this.checkAfter(owedMs);
      this.isOver = true;
      this.expired();
    });
  }
}

/** Time for which a process has waited for a CPU so far. Available on Linux only; 0 elsewhere. */
export function cpuWaitMs(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / NS_PER_MS;
  } catch {
    return 0;
  }
}
