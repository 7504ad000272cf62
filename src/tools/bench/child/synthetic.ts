import { readFileSync } from 'node:fs';
import { NS_PER_S } from '../../core/units.js';
import { monotonicNs } from '../../live/clock.js';
import { TensorMaker } from '../../live/load/tensors.js';
import { ModelSession } from '../../live/ort/session.js';
import { stream } from '../../random/streams.js';
import { TENSOR_SEED } from '../subject.js';
import { Turns } from '../turns.js';
import type { SyntheticModel, SyntheticSpec, SyntheticTrial } from './messages.js';

/**
 * A device that nothing but its own speed holds up: INFERs of full batches one right after the other, from inputs that
 * lie in memory. Models take turns, as often as their share of the requests asks for, so that each finds in the
 * caches what it finds there in service. Blocks this thread during a trial.
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
