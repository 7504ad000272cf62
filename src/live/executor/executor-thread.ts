// Entry of an executor thread: one GPU of onnxruntime, or all simulated GPUs of a machine.
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { invariant } from '../../core/invariant.js';
import { hasOneLane } from '../device.js';
import type { ResultMessage } from '../messages.js';
import { Signal } from '../signal.js';
import { ExecutorLoop } from './executor-loop.js';
import { GpuExecutor } from './gpu-executor.js';
import { OrtDevice } from './ort-device.js';
import type { ExecutorThreadData, ThreadReport } from './protocol.js';
import { SimulatedDevice } from './simulated-device.js';

const machine = parentPort;
invariant(machine !== null, 'this file is the entry of a thread');
const { signal, gpus, models, pages, hosts } = workerData as ExecutorThreadData;
const results: ResultMessage[] = [];

const loop = new ExecutorLoop({
  gpus: new Map(
    gpus.map(({ gpu, device: spec }) => {
      const device = spec.kind === 'simulated' ? new SimulatedDevice(spec, models) : new OrtDevice(hosts);
      const oneLane = hasOneLane(spec);
      const sendResult = (result: ResultMessage) => results.push(result);
      return [gpu, new GpuExecutor({ models, pages, oneLane, device, sendResult })];
    }),
  ),
  results,
  signal: new Signal(signal),
  receive: () => receiveMessageOnPort(machine)?.message,
  report: (report, transfer) => machine.postMessage(report, transfer),
});

machine.postMessage({ kind: 'ready' } satisfies ThreadReport);
loop.run();
