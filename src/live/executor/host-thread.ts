// Entry of a host thread: it runs some of the models of one GPU, whenever its executor thread says so.
import { readFileSync } from 'node:fs';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { EscapementError } from '../../core/errors.js';
import { invariant } from '../../core/invariant.js';
import { type HostModel, ModelHost } from './model-host.js';
import type { HostedModel, HostThreadData, ThreadReport } from './protocol.js';
import { Signal } from './signal.js';
import { buffersOf } from './transfer.js';

const machine = parentPort;
invariant(machine !== null, 'this file is the entry of a thread');
const data = workerData as HostThreadData;

try {
  const host = new ModelHost(data.device, new Map(data.models.map(read)));
  await host.probe();
  machine.postMessage({ kind: 'ready' } satisfies ThreadReport);
  await serve(host, data);
} catch (error) {
  if (!(error instanceof EscapementError)) throw error;
  machine.postMessage({ kind: 'failed', code: error.code, message: error.message } satisfies ThreadReport);
}

async function serve(host: ModelHost, { executor, signal: buffer }: HostThreadData): Promise<void> {
  const signal = new Signal(buffer);
  const executorSignal = new Signal(executor.signal);
  while (!signal.stopped) {
    const { count } = signal;
    const order = receiveMessageOnPort(executor.port)?.message;
    if (order === undefined) {
      signal.wait(count, Number.POSITIVE_INFINITY);
      continue;
    }
    const report = await host.perform(order);
    if (report === null) continue;
    executor.port.postMessage(report, buffersOf([report.outputs]));
    executorSignal.raise();
  }
}

function read({ index, model }: HostedModel): [number, HostModel] {
  const { ortPath } = model;
  invariant(ortPath !== null, 'only a simulated device runs a model without weights');
  try {
    // A copy: small files are read into memory that they share.
    return [index, { model, bytes: new Uint8Array(readFileSync(ortPath)) }];
  } catch (error) {
    throw new EscapementError('E_MODEL_FILE', `cannot be read: ${(error as Error).message}`, {
      file: ortPath,
    });
  }
}
