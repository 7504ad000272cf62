import type { InferenceSession } from 'onnxruntime-node';
import { EscapementError } from '../../core/errors.js';
import { invariant } from '../../core/invariant.js';
import type { OrtDeviceSpec } from '../device.js';
import type { ModelSignature } from '../model.js';
import { onnxruntimeReason, openSession } from './open-session.js';
import { type NamedTensors, namedTensors, TensorBuffer } from './tensors.js';
import { keepDevice, warmUpSizes } from './warm-up.js';

/**
 * A model whose weights are on a device, ready to run at each of its batch sizes. `create`, `run` and `release`
 * block the thread that calls them, one call at a time.
 */
export class ModelSession {
  private readonly inputs: readonly TensorBuffer[];
  private readonly outputs: readonly TensorBuffer[];
  private readonly batches: readonly Batch[];

  private constructor(
    private readonly session: InferenceSession,
    /** The weights are read in place: these bytes must live as long as the session. */
    readonly modelBytes: Uint8Array,
    signature: ModelSignature,
    batchSizes: readonly number[],
  ) {
    const maxBatchSize = batchSizes[batchSizes.length - 1];
    this.inputs = signature.inputs.map((input) => new TensorBuffer(input, maxBatchSize));
    this.outputs = signature.outputs.map((output) => new TensorBuffer(output, maxBatchSize));
    this.batches = batchSizes.map((size) => ({
      size,
      feeds: namedTensors(this.inputs, size, signature),
      fetches: namedTensors(this.outputs, size, signature),
    }));
  }

  /**
   * Loads `modelBytes`, an optimised model (`.ort`), and warms it up where that is needed, so that its first run
   * takes no longer than later ones. Pass the same bytes object at later loads: what was compiled for it is kept.
   * `batchSizes` ascend; they are [1] unless the model is batched. Throws `E_DEVICE` when the device
   * is not there, and `E_MODEL_FILE` when it cannot run the model.
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
    const model = new ModelSession(session, modelBytes, signature, batchSizes);
    const sizes = warmUpSizes(modelBytes, batchSizes.length, device);
    try {
      for (const batch of model.batches.slice(0, sizes)) await model.execute(batch);
    } catch (error) {
      await model.release();
      throw error;
    }
    return model;
  }

  /**
   * Runs `count` requests, at most the batch size; the rest of the batch is zeros. `inputs` holds for each input
   * the bytes of `count` requests one after the other, the answer the same for each output. Throws `E_MODEL_FILE`
   * when the model fails.
   */
  async run(
    batchIndex: number,
    count: number,
    inputs: readonly Uint8Array[],
  ): Promise<Uint8Array<ArrayBuffer>[]> {
    const batch = this.batches[batchIndex];
    for (let i = 0; i < this.inputs.length; i++) {
      const { bytes, signature } = this.inputs[i];
      invariant(inputs[i].length === count * signature.bytes, 'an input has the bytes of all requests');
      bytes.set(inputs[i]);
      bytes.fill(0, count * signature.bytes, batch.size * signature.bytes);
    }
    await this.execute(batch);
    return this.outputs.map(({ bytes, signature }) => bytes.slice(0, count * signature.bytes));
  }

  /** Frees what the model takes on the device. Nothing may be called afterwards. */
  async release(): Promise<void> {
    await this.session.release();
  }

  private async execute({ size, feeds, fetches }: Batch): Promise<void> {
    try {
      await this.session.run(feeds, fetches);
    } catch (error) {
      throw new EscapementError(
        'E_MODEL_FILE',
        `the model fails at batch size ${size}: ${onnxruntimeReason(error)}`,
      );
    }
  }
}

/** The tensors of one batch size. */
interface Batch {
  readonly size: number;
  readonly feeds: NamedTensors;
  readonly fetches: NamedTensors;
}
