// Entry of the thread that waits for a precise timer.
import { parentPort, workerData } from 'node:worker_threads';
import { monotonicNs } from '../base/clock/clock.js';
import { invariant } from '../base/invariant.js';
import { Signal } from '../live/transfer.js';
import { passOnWarnings } from '../live/warnings.js';
import type { AlarmSpec } from './precise-timer.js';

passOnWarnings('alarm');
const port = parentPort;
invariant(port !== null, 'this file is the entry of a thread');
const spec = workerData as AlarmSpec;
const signal = new Signal(spec.signal);
const at = new Float64Array(spec.at);

/** Instant of the last alarm. */
let raisedForNs = Number.NaN;
while (!signal.stopped) {
  const { count } = signal;
  const atNs = at[0];
  if (atNs === raisedForNs) signal.block(count, Number.POSITIVE_INFINITY);
  else if (atNs > monotonicNs()) signal.block(count, atNs);
  else {
    raisedForNs = atNs;
    port.postMessage(null);
  }
}
