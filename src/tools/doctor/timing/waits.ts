import { monotonicNs } from '../../../base/clock/clock.js';
import { NS_PER_MS } from '../../../base/units.js';
import { Signal } from '../../../live/signal.js';

/** Blocks this thread again and again, as the threads that execute do: how late each wait ended, in ns. */
export function waitLateness(durationNs: number): number[] {
  const signal = new Signal();
  const latenessNs: number[] = [];
  const endNs = monotonicNs() + durationNs;
  for (let nowNs = monotonicNs(); nowNs < endNs || latenessNs.length === 0; ) {
    const untilNs = nowNs + nextWaitNs(latenessNs.length);
    signal.wait(signal.count, untilNs);
    nowNs = monotonicNs();
    latenessNs.push(nowNs - untilNs);
  }
  return latenessNs;
}

/** Waits of 1 to 5 ms, none a whole number of milliseconds, so that ticks of the kernel favour none. */
export function nextWaitNs(wait: number): number {
  return Math.round((1 + ((wait * 0.37) % 4)) * NS_PER_MS);
}
