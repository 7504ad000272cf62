// Entry of the process in which onnxruntime reads, optimizes and measures models: see `callRuntime`.
import '../../ort/environment.js';
import { readFileSync, writeFileSync } from 'node:fs';
import { Worker as Thread } from 'node:worker_threads';
import { monotonicNs } from '../../../base/clock/clock.js';
import { stream } from '../../../base/random/streams.js';
import { CPU } from '../../device.js';
import { atLongest } from '../../lengths.js';
import {
  bytesOfShape,
  type Shape,
  type TensorSignature,
  unbatched,
  withFreeOutputs,
  withSizes,
} from '../../model.js';
import { onnxruntime } from '../../ort/onnxruntime.js';
import { openSession } from '../../ort/open-session.js';
import type { OnProgress, RuntimeJob, RuntimeReport, RuntimeTask } from '../../ort/runtime-call.js';
import { runtimeProblem } from '../../ort/runtime-problem.js';
import { ModelSession } from '../../ort/session.js';
import type { OptimizeTask } from '../optimize.js';
import { type BatchingCheck, type BatchingSpec, checkBatching } from './check-batching.js';
import type { Measurement, MeasureSpec } from './measure.js';
import { type BatchingTask, withBatching } from './measure.js';
import { findInputs, findRows, type SizedInputs, usualInputs } from './sample-inputs.js';
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
  checkBatches: async (task: BatchingTask) => {
    const modelBytes = new Uint8Array(readFileSync(task.ortPath));
    return checkRows(modelBytes, task, await rowsOf(modelBytes, task, monotonicNs()));
  },
};

async function measure(spec: MeasureSpec, onProgress: OnProgress): Promise<Measurement> {
  const modelBytes = new Uint8Array(readFileSync(spec.ortPath));
  const { check = null, budgetNs = MEASURE_BUDGET_NS } = spec;
  const beginNs = monotonicNs();
  if (check !== null) onProgress(0, 'check of batches');
  const rows = await rowsOf(modelBytes, spec, beginNs + budgetNs / 2);
  const batching =
    check === null
      ? null
      : await checkRows(modelBytes, { ...spec, ...check, untilNs: beginNs + budgetNs / 2 }, rows);
  const checked = check?.isIgnored ? spec : withBatching(spec, batching);
  const { inputs, freeOutputs } = await inputsFor(modelBytes, checked, rows);
  const served = withBatching(checked, null, freeOutputs);
  const timing = await timeSession(modelBytes, { ...served, inputs }, beginNs + budgetNs, onProgress);
  const { inputs: tensors, outputs } = atLongest(spec.signature);
  const sizes = { inputBytes: bytesOf(tensors), outputBytes: bytesOf(outputs) };
  return { ...timing, weightsBytes: modelBytes.length, ...sizes, batching, freeOutputs };
}

function bytesOf(tensors: readonly TensorSignature[]): number {
  return tensors.reduce((sum, { bytes }) => sum + bytes, 0);
}

type Rows = Pick<MeasureSpec, 'signature' | 'batchSizes' | 'device' | 'samples' | 'lengths'>;

/** Rows of a stackable model, by length. */
function rowsOf(modelBytes: Uint8Array, spec: Rows, untilNs: number): Promise<SizedInputs[]> {
  if (spec.signature.stackable !== true) return Promise.resolve([]);
  return withFreeSession(modelBytes, spec, (session) => findRows(session, spec.signature, spec, untilNs));
}

/** Checks a model's batches; those of a stackable one at a length of its `rows`, since any of 1 look like rows. */
async function checkRows(
  modelBytes: Uint8Array,
  spec: BatchingSpec,
  rows: readonly SizedInputs[],
): Promise<BatchingCheck> {
  const { signature, device } = spec;
  if (signature.stackable !== true) return checkBatching(modelBytes, spec);
  const { signature: row, draw } = rows.findLast(({ length }) => length <= CHECKED_LENGTH) ?? rows[0] ?? {};
  const none = { independent: false, batchSizes: spec.batchSizes };
  if (row === undefined || draw === undefined) return { ...none, what: 'it does not accept a single row' };
  const shapes = row.inputs.map(({ shape }) => shape);
  const { shapes: given = [] } = await withFreeSession(modelBytes, { signature, device }, (session) =>
    session.run(0, 1, draw(row, 1, stream(1, 'profile-inputs')), shapes),
  );
  const ofRow = (tensor: TensorSignature, shape: Shape) => {
    const own = shape.slice(1);
    return { ...tensor, shape: own, bytes: bytesOfShape(tensor.datatype, own) };
  };
  const inputs = row.inputs.map((input) => ofRow(input, input.shape));
  const outputs = row.outputs.map((output, o) => ofRow(output, given[o]));
  return checkBatching(modelBytes, { ...spec, signature: { inputs, outputs, batched: true } });
}

const CHECKED_LENGTH = 8;

async function inputsFor(
  modelBytes: Uint8Array,
  spec: MeasureSpec,
  rows: readonly SizedInputs[],
): Promise<{ readonly inputs: readonly SizedInputs[]; readonly freeOutputs: boolean }> {
  const { signature, samples } = spec;
  const { lengths, stackable } = signature;
  if (stackable === true) return { inputs: rows, freeOutputs: false };
  if (lengths !== undefined) {
    const draw = usualInputs(samples);
    const inputs = lengths.buckets.map((length) => ({
      length,
      signature: withSizes(signature, length),
      draw,
    }));
    return { inputs, freeOutputs: false };
  }
  const found = await withFreeSession(modelBytes, spec, (session) => findInputs(session, signature, samples));
  return { inputs: [{ length: 0, ...found }], freeOutputs: found.freeOutputs };
}

/** Uses a session that takes inputs of any size, one request at a time. */
async function withFreeSession<T>(
  modelBytes: Uint8Array,
  { signature, device }: Pick<MeasureSpec, 'signature' | 'device'>,
  use: (session: ModelSession) => Promise<T>,
): Promise<T> {
  const session = await ModelSession.create(modelBytes, withFreeOutputs(unbatched(signature)), [1], device);
  try {
    return await use(session);
  } finally {
    await session.release();
  }
}

/** Ends this process with its parent, even while onnxruntime does not return. */
const FOLLOW = `
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGKILL'), 500);`;

const report = (message: RuntimeReport) => process.send?.(message);

// Terminals and supervisors signal all processes; the parent decides when this one ends.
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
