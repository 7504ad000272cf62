// Entry of the thread in which a model is measured: onnxruntime blocks the thread that calls it.
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { EscapementError } from '../../core/errors.js';
import { invariant } from '../../core/invariant.js';
import type { MeasureReport, MeasureSpec } from './measure.js';
import { timeSession } from './session-timing.js';

const caller = parentPort;
invariant(caller !== null, 'this file is the entry of a thread');
const spec = workerData as MeasureSpec;
const report = (message: MeasureReport) => caller.postMessage(message);

try {
  const modelBytes = new Uint8Array(readFileSync(spec.ortPath));
  const timing = await timeSession(modelBytes, spec, (share, next) =>
    report({ kind: 'progress', share, next }),
  );
  report({ kind: 'done', timing, weightsBytes: modelBytes.length });
} catch (error) {
  if (!(error instanceof EscapementError)) throw error;
  report({ kind: 'failed', code: error.code, message: error.message });
}
