import { invariant } from '../base/invariant.js';
import { OUTCOME_LATE, OUTCOME_OK } from '../core/request.js';
import { hasFreeSizes, unbatched } from '../live/model.js';
import type { SchedulingService } from '../live/service.js';
import { unknownModel } from './description.js';
import { requestEncoder } from './requests.js';
import type { LoadTarget, TargetOptions } from './target.js';

/** An inference service in this process, with the player's clock. Throws `E_UNKNOWN_MODEL` if it lacks a model. */
export function openServiceTarget(
  service: SchedulingService,
  options: Pick<TargetOptions, 'models' | 'seed'>,
): LoadTarget {
  const { entries } = service.state;
  const served = options.models.map((name) => {
    const entry = entries.find((each) => each.name === name && each.isDefault);
    if (entry === undefined) throw unknownModel(name, [...new Set(entries.map((each) => each.name))]);
    invariant(
      entry.model !== null,
      'a load generator in the process of its service starts when the models are ready',
    );
    const { signature } = entry.model;
    const { lengths } = signature;
    const { inputs } = unbatched(signature);
    return { index: entry.index, signature, inputs, outputs: [], ...(lengths && { lengths }) };
  });
  const encode = requestEncoder('this process', options, served, ({ length, tensors }) => ({
    length,
    inputs: tensors.map(({ data }) => data),
    shapes: tensors.map(({ shape }) => shape),
  }));
  return {
    name: 'this process',
    waited: 0,
    send(request, done) {
      const { model, sloNs, user = 0, arrivalNs = 0, requestClass = 0, tenant = 0, length = 0 } = request;
      const message = encode(request);
      service.infer({
        ...{ model: served[model].index, user, requestClass, tenant, sloNs, arrivalNs },
        ...{ inputs: message.inputs, length: message.length || length },
        shapes: hasFreeSizes(served[model].signature) ? message.shapes : undefined,
        done: ({ outcome }) => done(outcome === OUTCOME_LATE ? OUTCOME_OK : outcome),
      });
    },
    // The owner of the service closes it.
    close: () => {},
  };
}
