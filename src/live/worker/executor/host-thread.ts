// Entry of a host thread.
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { EscapementError } from '../../../base/errors.js';
import { invariant } from '../../../base/invariant.js';
import { Signal } from '../../transfer.js';
import { passOnWarnings } from '../../warnings.js';
import { HostThread, ModelHost } from './model-host.js';
import type { HostedModel, HostModel, HostThreadData, ThreadReport } from './protocol.js';

passOnWarnings('host');
const machine = parentPort;
invariant(machine !== null, 'this file is the entry of a thread');
const data = workerData as HostThreadData;

try {
  const host = new ModelHost(data.device, new Map(data.models.map(read)));
  await host.probe();
  machine.postMessage({ kind: 'ready' } satisfies ThreadReport);
  await new HostThread(host, new Signal(data.signal), data.executor, machine).run();
} catch (error) {
  if (!(error instanceof EscapementError)) throw error;
  machine.postMessage({ kind: 'failed', code: error.code, message: error.message } satisfies ThreadReport);
}

function read({ index, model }: HostedModel): [number, HostModel] {
  const { ortPath } = model;
  invariant(ortPath !== null, 'only a simulated device runs a model without weights');
  try {
    // A copy: small files are read into shared memory.
    return [index, { model, bytes: new Uint8Array(readFileSync(ortPath)) }];
  } catch (error) {
    throw new EscapementError('E_MODEL_FILE', `cannot be read: ${(error as Error).message}`, {
      file: ortPath,
    });
  }
}
