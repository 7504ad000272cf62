import { readFileSync } from 'node:fs';
import { monotonicNs } from '../../../base/clock/clock.js';
import { stream } from '../../../base/random/streams.js';
import { NS_PER_S } from '../../../base/units.js';
import { ModelSession } from '../../../live/ort/session.js';
import { TensorMaker } from '../../../load/tensors.js';
import { Turns } from '../mixed-source.js';
import { TENSOR_SEED } from '../subject.js';
import type { SyntheticModel, SyntheticSpec, SyntheticTrial } from './messages.js';

/**
 * A device limited only by its own speed: INFERs of full batches back to back, with inputs in memory. Models take turns
 * according to their share of the requests, so that caches are as warm as in service. Blocks this thread during a
 * trial.
 */
export class Synthetic {
  private constructor(
    private readonly models: readonly Loaded[],
    private readonly turns: Turns,
  ) {}

  /** Loads all models. Throws `E_DEVICE` and `E_MODEL_FILE`. */
  static async load({ device, models }: SyntheticSpec): Promise<Synthetic> {
    const loaded: Loaded[] = [];
    for (const model of models) {
      const { ortPath, signature, batchSize } = model;
      const bytes = new Uint8Array(readFileSync(ortPath));
      const session = await ModelSession.create(bytes, signature, [batchSize], device);
      loaded.push({ session, batchSize, inputs: inputsOf(model) });
    }
    return new Synthetic(loaded, new Turns(models.map(({ share, batchSize }) => share / batchSize)));
  }

  /** At least one INFER. Throws `E_MODEL_FILE` where a model fails. */
  async trial(seconds: number): Promise<SyntheticTrial> {
    const beginNs = monotonicNs();
    const endNs = beginNs + seconds * NS_PER_S;
    let requests = 0;
    let nowNs = beginNs;
    while (nowNs < endNs) {
      const { session, batchSize, inputs } = this.models[this.turns.next()];
      await session.run(0, batchSize, inputs);
      requests += batchSize;
      nowNs = monotonicNs();
    }
    return { requests, tookNs: nowNs - beginNs };
  }
}

interface Loaded {
  readonly session: ModelSession;
  readonly batchSize: number;
  readonly inputs: readonly Uint8Array[];
}

/** The tensors that clients send, as often as the batch has requests. */
function inputsOf({ name, signature, batchSize }: SyntheticModel): Uint8Array[] {
  const maker = new TensorMaker(stream(TENSOR_SEED, 'load-tensors'));
  return maker
    .inputs(name, signature.inputs)
    .map(({ data }) => Buffer.concat(Array.from({ length: batchSize }, () => data)));
}
