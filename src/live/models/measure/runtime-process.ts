// Entry of the process in which onnxruntime reads, optimizes and measures models: see `callRuntime`.
import '../../ort/environment.js';
import { readFileSync, writeFileSync } from 'node:fs';
import { Worker as Thread } from 'node:worker_threads';
import { monotonicNs } from '../../../base/clock/clock.js';
import { unbatched, withFreeOutputs } from '../../model.js';
import { onnxruntime } from '../../ort/onnxruntime.js';
import { openSession } from '../../ort/open-session.js';
import type { OnProgress, RuntimeJob, RuntimeReport, RuntimeTask } from '../../ort/runtime-call.js';
import { runtimeProblem } from '../../ort/runtime-problem.js';
import { ModelSession } from '../../ort/session.js';
import { CPU } from '../locate.js';
import type { OptimizeTask } from '../optimize.js';
import { type BatchingTask, withBatching } from './batching.js';
import { checkBatching } from './check-batching.js';
import type { MeasuredModel, MeasureSpec } from './measure.js';
import { type FoundInputs, findInputs, usualInputs } from './sample-inputs.js';
import { MEASURE_BUDGET_NS, timeSession } from './session-timing.js';

const jobs: Record<RuntimeJob, (task: never, onProgress: OnProgress) => Promise<unknown>> = {
  describe: async (onnxPath: string) => {
    const session = await openSession(onnxPath, CPU, { level: 'disabled' });
    const { inputMetadata, outputMetadata } = session;
    await session.release();
    return { inputMetadata, outputMetadata };
  },
  optimize: async ({ onnxPath, device, level, savePath }: OptimizeTask) => {
    const config = { save_model_format: 'ORT' };
    const session = await openSession(onnxPath, device, { level, savePath, config });
    await session.release();
  },
  measure,
  checkBatches: (task: BatchingTask) => checkBatching(new Uint8Array(readFileSync(task.ortPath)), task),
};

async function measure(spec: MeasureSpec, onProgress: OnProgress): Promise<MeasuredModel> {
  const modelBytes = new Uint8Array(readFileSync(spec.ortPath));
  const { check = null, budgetNs = MEASURE_BUDGET_NS } = spec;
  const beginNs = monotonicNs();
  if (check !== null) onProgress(0, 'check of batches');
  const batching =
    check === null
      ? null
      : await checkBatching(modelBytes, { ...spec, ...check, untilNs: beginNs + budgetNs / 2 });
  const checked = check?.isIgnored ? spec : withBatching(spec, batching);
  const inputs = await inputsFor(modelBytes, checked);
  const served = withBatching(checked, null, inputs.freeOutputs);
  const timing = await timeSession(modelBytes, { ...served, inputs }, beginNs + budgetNs, onProgress);
  return { timing, weightsBytes: modelBytes.length, batching, freeOutputs: inputs.freeOutputs };
}

async function inputsFor(
  modelBytes: Uint8Array,
  { signature, device, samples }: MeasureSpec,
): Promise<FoundInputs> {
  if (signature.lengths !== undefined) return { signature, freeOutputs: false, draw: usualInputs(samples) };
  const session = await ModelSession.create(modelBytes, withFreeOutputs(unbatched(signature)), [1], device);
  try {
    return await findInputs(session, signature, samples);
  } finally {
    await session.release();
  }
}

/** Ends this process with its parent, even while onnxruntime does not return. */
const FOLLOW = `
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGKILL'), 500);`;

const report = (message: RuntimeReport) => process.send?.(message);

// Signals of a terminal or a supervisor go to all processes; this one's parent decides what it has to do.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
process.on('disconnect', () => process.exit());
try {
  // If memory runs out, a model not yet served goes before the server.
  writeFileSync('/proc/self/oom_score_adj', '1000');
} catch {
  // Exists on Linux only.
}
new Thread(FOLLOW, { eval: true }).unref();

// One task at a time: the caller waits for each.
process.on('message', async ({ job, task, aliveMs }: RuntimeTask) => {
  const alive = setInterval(() => report({ kind: 'alive' }), aliveMs);
  try {
    // Loading the library is not the model's time.
    onnxruntime();
    report({ kind: 'alive' });
    const result = await jobs[job](task as never, (share, next) => report({ kind: 'progress', share, next }));
    report({ kind: 'done', result });
  } catch (error) {
    report({ kind: 'failed', problem: runtimeProblem(error) });
  } finally {
    clearInterval(alive);
  }
});
