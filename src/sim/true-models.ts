import { stream } from '../base/random/streams.js';
import { mapExecNs } from '../core/lengths.js';
import type { ModelSpec, ModelTimes } from '../core/model.js';

/**
 * True models if profiles are wrong: every duration of a model, of INFERs and of its LOAD, on every kind of GPU, is its
 * profile's times one factor, drawn for each model uniformly from 1 ± `error` by the run's seed. `scale`: known factors
 * of INFERs, by name of the model.
 */
export function trueModels(
  models: readonly ModelSpec[],
  error: number,
  seed: number | string,
  scale: Readonly<Record<string, number>> = {},
): readonly ModelSpec[] {
  if (error === 0 && Object.keys(scale).length === 0) return models;
  const random = stream(seed, 'profile-error');
  return models.map((model) => {
    const factor = 1 + error * (2 * random() - 1);
    const scaledBy = (by: number) => (ns: number) => Math.max(1, Math.round(ns * by));
    const timesOf = (times: ModelTimes) => ({
      loadNs: scaledBy(factor)(times.loadNs),
      ...mapExecNs(times, scaledBy(factor * (scale[model.name] ?? 1))),
    });
    const { otherKinds } = model;
    return {
      ...model,
      ...timesOf(model),
      ...(otherKinds === undefined ? {} : { otherKinds: otherKinds.map(timesOf) }),
    };
  });
}
