import { stream } from '../base/random/streams.js';
import type { ModelSpec } from '../core/model.js';

/**
 * The models as they are where their profiles are wrong: every duration of a model, of INFERs and of its LOAD, is
 * its profile's times one factor, drawn for each model uniformly from 1 ± `error` by the run's seed.
 */
export function trueModels(
  models: readonly ModelSpec[],
  error: number,
  seed: number | string,
): readonly ModelSpec[] {
  if (error === 0) return models;
  const random = stream(seed, 'profile-error');
  return models.map((model) => {
    const factor = 1 + error * (2 * random() - 1);
    const scaled = (ns: number) => Math.max(1, Math.round(ns * factor));
    return { ...model, loadNs: scaled(model.loadNs), execNs: model.execNs.map(scaled) };
  });
}
