// Entry of an executor thread.
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { invariant } from '../../../base/invariant.js';
import { REAL_TIME } from '../../../base/world/real-time.js';
import { Signal } from '../../transfer.js';
import { passOnWarnings } from '../../warnings.js';
import { ExecutorLoop, OrtDevice } from './executor-loop.js';
import type { ExecutorThreadData, ThreadReport } from './protocol.js';
import { SimulatedDevice } from './simulated-device.js';

passOnWarnings('executor');
const machine = parentPort;
invariant(machine !== null, 'this file is the entry of a thread');
const data = workerData as ExecutorThreadData;

const loop = new ExecutorLoop({
  data,
  time: REAL_TIME,
  createDevice: ({ device }, models) =>
    device.kind === 'simulated' ? new SimulatedDevice(device, models) : new OrtDevice(data.hosts),
  port: machine,
  receive: receiveMessageOnPort,
});
machine.postMessage({ kind: 'ready' } satisfies ThreadReport);

// Raised when there is something to receive or to collect.
const signal = new Signal(data.signal);
while (!signal.stopped) {
  const { count } = signal;
  signal.wait(count, loop.turn());
}
