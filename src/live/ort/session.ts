import type { InferenceSession } from 'onnxruntime-node';
import { monotonicNs } from '../../base/clock/clock.js';
import { EscapementError } from '../../base/errors.js';
import { invariant } from '../../base/invariant.js';
import type { OrtDeviceSpec } from '../device.js';
import { hasFreeSizes, type ModelSignature, type Shape } from '../model.js';
import { openSession } from './open-session.js';
import { PaddedBatches } from './padded-batches.js';
import { InputError, isOfInputs, onnxruntimeReason } from './runtime-problem.js';
import { type Batch, bytesOfTensor, namedTensors, TensorBuffer, tensorOf } from './tensors.js';
import { keepDevice, warmUpSizes } from './warm-up.js';

/** Result of a run, and copy times of tensors at its start and end. */
export interface SessionRun {
  /** For each output the bytes of all requests in sequence; or separately, all outputs of one request after another. */
  readonly outputs: Uint8Array<ArrayBuffer>[];
  /** Full shapes of the outputs; only for a model with free sizes. */
  readonly shapes?: readonly Shape[];
  readonly copyInNs: number;
  readonly copyOutNs: number;
}

/**
 * A model with its weights on a device, ready to run at each of its batch sizes. `create`, `run` and `release` block
 * the calling thread, one call at a time.
 */
export class ModelSession {
  private readonly inputs: readonly TensorBuffer[];
  private readonly outputs: readonly TensorBuffer[];
  private readonly batches: readonly Batch[];
  private readonly isFree: boolean;
  /** Null: its inputs have one length. */
  private readonly padded: PaddedBatches | null;

  private constructor(
    private readonly session: InferenceSession,
    /** The weights are read in place: these bytes must live as long as the session. */
    readonly modelBytes: Uint8Array,
    private readonly signature: ModelSignature,
    batchSizes: readonly number[],
  ) {
    const maxBatchSize = batchSizes[batchSizes.length - 1];
    this.isFree = hasFreeSizes(signature);
    this.padded = signature.lengths === undefined ? null : new PaddedBatches(signature, batchSizes);
    if (this.isFree || this.padded !== null) {
      // With tensor sizes chosen by each request there is nothing to prepare.
      this.inputs = [];
      this.outputs = [];
      this.batches = this.padded?.batches ?? [];
      return;
    }
    this.inputs = signature.inputs.map((input) => new TensorBuffer(input, maxBatchSize));
    this.outputs = signature.outputs.map((output) => new TensorBuffer(output, maxBatchSize));
    this.batches = batchSizes.map((size) => ({
      size,
      feeds: namedTensors(this.inputs, size, signature),
      fetches: namedTensors(this.outputs, size, signature),
    }));
  }

  /**
   * Loads `modelBytes`, an optimized model (`.ort`), and warms it up if needed, so that its first run takes no longer
   * than later ones. Pass the same bytes object for later loads: its compiled kernels are kept. `batchSizes` ascend;
   * they are [1] unless the model is batched. Throws `E_DEVICE` if the device is missing, and `E_MODEL_FILE` if it
   * cannot run the model.
   */
  static async create(
    modelBytes: Uint8Array,
    signature: ModelSignature,
    batchSizes: readonly number[],
    device: OrtDeviceSpec,
  ): Promise<ModelSession> {
    await keepDevice(device);
    const config = { use_ort_model_bytes_directly: '1', use_ort_model_bytes_for_initializers: '1' };
    const session = await openSession(modelBytes, device, { level: 'disabled', config });
    const batches = batchSizes.length * (signature.lengths?.buckets.length ?? 1);
    const sizes = warmUpSizes(modelBytes, batches, device);
    const model = new ModelSession(session, modelBytes, signature, batchSizes);
    try {
      for (const batch of model.batches.slice(0, sizes)) await model.execute(batch);
    } catch (error) {
      await model.release();
      throw error;
    }
    return model;
  }

  /**
   * Runs `count` requests, at most the batch size; the rest of the batch is zeros. `inputs` are those of an INFER's
   * message; a model with free sizes takes those of each request separately, with the full `shapes` that they all have. One
   * with several lengths takes them separately, too, pads them to `bucket`, and cuts outputs back. `apart`: each
   * request's outputs are in buffers of their own. Throws `InputError` if the model cannot compute these inputs, `E_MODEL_FILE`
   * if it fails otherwise.
   */
  async run(
    batchIndex: number,
    count: number,
    inputs: readonly Uint8Array[],
    shapes: readonly Shape[] = [],
    apart = false,
    bucket = 0,
  ): Promise<SessionRun> {
    if (this.isFree) return this.runFree(count, inputs, shapes);
    if (this.padded !== null) return this.runPadded(this.padded, batchIndex, bucket, inputs);
    const batch = this.batches[batchIndex];
    const beginNs = monotonicNs();
    for (let i = 0; i < this.inputs.length; i++) {
      const { bytes, signature } = this.inputs[i];
      let at = 0;
      // Either one part, or one per request.
      for (let part = i; part < inputs.length; part += this.inputs.length) {
        bytes.set(inputs[part], at);
        at += inputs[part].length;
      }
      invariant(at === count * signature.bytes, 'an input has the bytes of all requests');
      bytes.fill(0, count * signature.bytes, batch.size * signature.bytes);
    }
    const copyInNs = monotonicNs() - beginNs;
    await this.execute(batch);
    const executedNs = monotonicNs();
    const outputs = apart
      ? Array.from({ length: count }, (_, r) => this.outputs.map((output) => rowsOf(output, r, 1))).flat()
      : this.outputs.map((output) => rowsOf(output, 0, count));
    return { outputs, copyInNs, copyOutNs: monotonicNs() - executedNs };
  }

  private async runPadded(
    padded: PaddedBatches,
    batchIndex: number,
    bucket: number,
    inputs: readonly Uint8Array[],
  ): Promise<SessionRun> {
    const beginNs = monotonicNs();
    const run = padded.gather(batchIndex, bucket, inputs);
    const copyInNs = monotonicNs() - beginNs;
    await this.execute(run.batch);
    const executedNs = monotonicNs();
    const outputs = padded.cut(run);
    return { outputs, copyInNs, copyOutNs: monotonicNs() - executedNs };
  }

  private async runFree(
    count: number,
    inputs: readonly Uint8Array[],
    shapes: readonly Shape[],
  ): Promise<SessionRun> {
    const { signature, session } = this;
    const beginNs = monotonicNs();
    const each = signature.inputs.length;
    const stacked = shapes.map((shape) => (count === 1 ? shape : [count, ...shape.slice(1)]));
    const feeds = Object.fromEntries(
      signature.inputs.map(({ name, datatype }, i) => {
        const own = count === 1 ? inputs[i] : Buffer.concat(inputs.filter((_, at) => at % each === i));
        return [name, tensorOf(datatype, stacked[i], own)];
      }),
    );
    const copyInNs = monotonicNs() - beginNs;
    const given = await session.run(feeds).catch((error) => {
      const sizes = stacked.map((shape) => `[${shape.join(',')}]`).join(', ');
      throw runProblem(error, `inputs of ${sizes}`);
    });
    const executedNs = monotonicNs();
    const tensors = signature.outputs.map(({ name }) => given[name]);
    const whole = tensors.map(bytesOfTensor);
    if (count === 1) {
      const copyOutNs = monotonicNs() - executedNs;
      return { outputs: whole, shapes: tensors.map(({ dims }) => dims), copyInNs, copyOutNs };
    }
    if (tensors.some(({ dims }) => dims[0] !== count))
      throw new InputError('its outputs do not have a row per request');
    const outputs = Array.from({ length: count }, (_, r) =>
      whole.map((bytes) => bytes.slice((r * bytes.length) / count, ((r + 1) * bytes.length) / count)),
    ).flat();
    const own = tensors.map(({ dims }) => [1, ...dims.slice(1)]);
    return { outputs, shapes: own, copyInNs, copyOutNs: monotonicNs() - executedNs };
  }

  /** Frees the session's memory on the device. Nothing may be called afterwards. */
  async release(): Promise<void> {
    await this.session.release();
  }

  private async execute({ size, feeds, fetches }: Batch): Promise<void> {
    try {
      await this.session.run(feeds, fetches);
    } catch (error) {
      throw runProblem(error, `batch size ${size}`);
    }
  }
}

function runProblem(error: unknown, where: string): Error {
  const reason = onnxruntimeReason(error);
  if (isOfInputs(reason)) return new InputError(`the model cannot compute these inputs: ${reason}`);
  return new EscapementError('E_MODEL_FILE', `the model fails at ${where}: ${reason}`);
}

function rowsOf({ bytes, signature }: TensorBuffer, first: number, count: number): Uint8Array<ArrayBuffer> {
  return bytes.slice(first * signature.bytes, (first + count) * signature.bytes);
}
