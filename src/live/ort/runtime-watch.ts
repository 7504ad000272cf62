import { readFileSync } from 'node:fs';
import { NS_PER_MS } from '../../base/units.js';

/**
 * Calls `expired` once nothing was heard of a process for the limit, counted from its first sign of life. Time in which it
 * could have run, but others had the CPU, does not count: `cpuWaitMs` says how much that was since it began.
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

  /** If this thread was held up itself, signs of life wait to be read. */
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

/** Time for which a process has waited for a CPU so far. 0 on systems that do not tell: only Linux does. */
export function cpuWaitMs(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / NS_PER_MS;
  } catch {
    return 0;
  }
}
