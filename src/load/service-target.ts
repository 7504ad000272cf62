import { invariant } from '../base/invariant.js';
import { stream } from '../base/random/streams.js';
import { OUTCOME_LATE, OUTCOME_OK } from '../core/request.js';
import { longestOf } from '../live/lengths.js';
import { type ModelSignature, withSizes } from '../live/model.js';
import type { SchedulingService } from '../live/service.js';
import { unknownModel } from './description.js';
import type { Done, LoadRequest, LoadTarget, TargetOptions } from './target.js';
import { TensorMaker } from './tensors.js';

/** An inference service in this process, with the player's clock. Throws `E_UNKNOWN_MODEL` if it lacks a model. */
export function openServiceTarget(
  service: SchedulingService,
  { models, seed }: Pick<TargetOptions, 'models' | 'seed'>,
): LoadTarget {
  const maker = new TensorMaker(stream(seed, 'load-tensors'));
  const { entries } = service.state;
  const served = models.map((name) => {
    const entry = entries.find((each) => each.name === name && each.isDefault);
    if (entry === undefined) throw unknownModel(name, [...new Set(entries.map((each) => each.name))]);
    return entry;
  });
  const indexes = served.map(({ index }) => index);
  const inputs = served.map(({ name, model }) => {
    invariant(
      model !== null,
      'a load generator in the process of its service starts when the models are ready',
    );
    return new ModelInputs(name, model.signature, maker);
  });
  return new ServiceTarget(service, indexes, inputs);
}

/** Inputs of requests for a model: equal for all, or for all of a length. */
class ModelInputs {
  private readonly made = new Map<number, readonly Uint8Array[]>();
  private readonly fixed: readonly Uint8Array[] | null;

  constructor(
    private readonly name: string,
    private readonly signature: ModelSignature,
    private readonly maker: TensorMaker,
  ) {
    this.fixed = signature.lengths === undefined ? this.make(signature) : null;
  }

  of(length: number): readonly Uint8Array[] {
    if (this.fixed !== null) return this.fixed;
    let inputs = this.made.get(length);
    if (inputs === undefined) {
      inputs = this.make(withSizes(this.signature, length));
      this.made.set(length, inputs);
    }
    return inputs;
  }

  /** Length of a request's inputs: the longest for 0, and one of the model's lengths if it does not pad. */
  lengthOf(length: number): number {
    const { lengths } = this.signature;
    if (lengths === undefined) return length;
    if (length === 0) return longestOf(lengths);
    return lengths.fill === null ? (lengths.buckets.find((bucket) => bucket >= length) ?? length) : length;
  }

  private make({ inputs }: ModelSignature): readonly Uint8Array[] {
    return this.maker.inputs(this.name, inputs).map(({ data }) => data);
  }
}

class ServiceTarget implements LoadTarget {
  readonly name = 'this process';
  readonly waited = 0;

  constructor(
    private readonly service: SchedulingService,
    private readonly indexes: readonly number[],
    private readonly inputs: readonly ModelInputs[],
  ) {}

  send(
    { model, sloNs, user = 0, arrivalNs = 0, requestClass = 0, tenant = 0, length = 0 }: LoadRequest,
    done: Done,
  ): void {
    const inputs = this.inputs[model];
    const ownLength = inputs.lengthOf(length);
    this.service.infer({
      model: this.indexes[model],
      user,
      requestClass,
      tenant,
      sloNs,
      length: ownLength,
      arrivalNs,
      inputs: inputs.of(ownLength),
      done: ({ outcome }) => done(outcome === OUTCOME_LATE ? OUTCOME_OK : outcome),
    });
  }

  /** The owner of the service closes it. */
  close(): void {}
}
