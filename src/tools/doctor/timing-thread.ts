// Entry of the thread that measures waits and gaps, which block it.
import { parentPort, workerData } from 'node:worker_threads';
import { monotonicNs } from '../../base/clock/clock.js';
import { NS_PER_MS } from '../../base/units.js';
import { Signal } from '../../live/transfer.js';
import { type Gaps, measureGaps, nextWaitNs, type TimingSpec } from './timing.js';

const { task, durationNs } = workerData as TimingSpec;
parentPort?.postMessage(task === 'wait' ? waitLateness() : gaps());

/** Blocks repeatedly, as executing threads do: lateness of each wait, in ns. */
function waitLateness(): number[] {
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

/** Not `monotonicNs`: reading it creates garbage, whose collection would be measured. */
function gaps(): Gaps {
  return measureGaps(durationNs, () => performance.now() * NS_PER_MS);
}
