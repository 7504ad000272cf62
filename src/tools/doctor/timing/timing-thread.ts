// Entry of the thread that measures waits and gaps: both block it.
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../../../base/invariant.js';
import { NS_PER_MS } from '../../../base/units.js';
import { measureGaps } from './gaps.js';
import type { TimingReport, TimingSpec } from './timing.js';
import { waitLateness } from './waits.js';

const caller = parentPort;
invariant(caller !== null, 'this file is the entry of a thread');
const { task, durationNs } = workerData as TimingSpec;
// Not `monotonicNs`: reading it makes garbage, and collecting that would be measured.
const nowNs = () => performance.now() * NS_PER_MS;
const report: TimingReport =
  task === 'wait'
    ? { task, latenessNs: waitLateness(durationNs) }
    : { task, gaps: measureGaps(durationNs, nowNs) };
caller.postMessage(report);
