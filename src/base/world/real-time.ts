import type { Time, Timer } from './time.js';

/** Clock and timers of this process. */
export const REAL_TIME: Time = {
  monotonicNs: () => Number(process.hrtime.bigint()),
  after: (delayMs, run) => new NodeTimer(setTimeout(run, delayMs)),
  every: (intervalMs, run) => new NodeTimer(setInterval(run, intervalMs)),
  soon: (run) => void setImmediate(run),
};

class NodeTimer implements Timer {
  constructor(private readonly timer: NodeJS.Timeout) {}

  cancel(): void {
    clearTimeout(this.timer);
  }

  unref(): Timer {
    this.timer.unref();
    return this;
  }
}
