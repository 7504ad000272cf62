import { invariant } from '../base/invariant.js';
import { stream } from '../base/random/streams.js';
import { OUTCOME_LATE, OUTCOME_OK } from '../core/request.js';
import type { SchedulingService } from '../live/service.js';
import { unknownModel } from './http-api.js';
import type { Done, LoadTarget, TargetOptions } from './target.js';
import { TensorMaker } from './tensors.js';

/** An inference service in this process, with the clock of the player. Throws `E_UNKNOWN_MODEL` where it lacks a model. */
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
    return maker.inputs(name, model.signature.inputs).map(({ data }) => data);
  });
  return new ServiceTarget(service, indexes, inputs);
}

class ServiceTarget implements LoadTarget {
  readonly name = 'this process';
  readonly waited = 0;

  constructor(
    private readonly service: SchedulingService,
    private readonly indexes: readonly number[],
    private readonly inputs: readonly (readonly Uint8Array[])[],
  ) {}

  send(
    model: number,
    sloNs: number,
    user: number,
    arrivalNs: number,
    done: Done,
    requestClass = 0,
    tenant = 0,
    length = 0,
  ): void {
    this.service.infer({
      model: this.indexes[model],
      user,
      requestClass,
      tenant,
      sloNs,
      length,
      arrivalNs,
      inputs: this.inputs[model],
      done: ({ outcome }) => done(outcome === OUTCOME_LATE ? OUTCOME_OK : outcome),
    });
  }

  /** A service in this process is closed by its owner. */
  close(): void {}
}
