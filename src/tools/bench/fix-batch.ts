import { EscapementError } from '../../base/errors.js';
import type { ModelSpec } from '../../core/model.js';
import type { Subject } from './subject.js';
import { BATCH_SIZE } from './vary.js';

/**
 * The subject with one batch size for the device by itself, which is also the largest that the server may use, whatever
 * its policy allows. Throws `E_CONFIG_VALUE` if a model has no profile for it.
 */
export function fixBatch(subject: Subject, batchSize: number): Subject {
  const models = subject.models.map((model, m) => {
    const { batchSizes, name } = model.spec;
    if (batchSizes.includes(batchSize)) return { ...model, spec: upTo(model.spec, batchSize) };
    if (subject.mix[m] === 0) return model;
    throw new EscapementError(
      'E_CONFIG_VALUE',
      `--vary ${BATCH_SIZE}: model ${name} has ${batchSizes.join(', ')}, not ${batchSize}: add it to batchSizes in its config.yaml`,
    );
  });
  const { policy } = subject.settings;
  const longestNs = Math.max(...models.flatMap(({ spec }) => spec.execNs));
  const options = {
    ...policy.options,
    ...('maxBatch' in policy.options ? { maxBatch: batchSize } : {}),
    ...(typeof policy.options.maxExec === 'number'
      ? { maxExec: Math.max(policy.options.maxExec, longestNs) }
      : {}),
  };
  const settings = { ...subject.settings, policy: { ...policy, options } };
  return { ...subject, models, settings, batchSize };
}

function upTo(spec: ModelSpec, batchSize: number): ModelSpec {
  const count = spec.batchSizes.indexOf(batchSize) + 1;
  const { execNsByLength } = spec;
  return {
    ...spec,
    batchSizes: spec.batchSizes.slice(0, count),
    execNs: spec.execNs.slice(0, count),
    ...(execNsByLength && { execNsByLength: execNsByLength.map((row) => row.slice(0, count)) }),
  };
}
