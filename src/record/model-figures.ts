import { CAUSES, type FailureCounts } from './causes.js';
import type { ModelFairness, ModelFigures } from './results.js';
import type { RunTally } from './run-tally.js';

/** The attainment of a model with fewer requests says little: it is listed, but not assessed. */
export const FEWEST_REQUESTS = 20;

/**
 * Figures of each model with requests, worst attainment first; those with too few requests to be assessed come last;
 * among equals, the one with more requests comes first.
 */
export function modelFigures(recorder: RunTally): ModelFigures[] {
  const { models, offeredByModel, okByModel, coldByModel } = recorder;
  return models
    .map(({ name }, model) => ({
      id: model,
      name,
      offered: offeredByModel[model],
      ok: okByModel[model],
      ...(recorder.causes !== null
        ? { coldStarts: coldByModel[model], failures: failuresOf(recorder, model) }
        : {}),
    }))
    .filter(({ offered }) => offered > 0)
    .sort(
      (a, b) => Number(isAssessed(b)) - Number(isAssessed(a)) || share(a) - share(b) || b.offered - a.offered,
    );
}

/** Summary of assessed models, and of the others together. `figures`: of all models, worst first. */
export function modelFairness(figures: readonly ModelFigures[]): ModelFairness {
  const assessed = figures.filter(isAssessed);
  const rare = figures.slice(assessed.length);
  const below = (limit: number) => assessed.filter((model) => share(model) < limit).length;
  const [worst] = assessed;
  return {
    worstModel:
      worst === undefined ? null : { name: worst.name, attainment: share(worst), offered: worst.offered },
    modelsBelow50: below(0.5),
    modelsBelow90: below(0.9),
    modelsAssessed: assessed.length,
    rareModels: together(rare),
  };
}

/** Failed requests of all models by cause. */
export function failureCounts(recorder: RunTally): FailureCounts {
  const { models } = recorder;
  const total = CAUSES.map((_, cause) =>
    models.reduce((sum, __, model) => sum + recorder.failuresByModel[model * CAUSES.length + cause], 0),
  );
  return named(total);
}

function failuresOf({ failuresByModel }: RunTally, model: number): FailureCounts {
  const begin = model * CAUSES.length;
  return named(failuresByModel.subarray(begin, begin + CAUSES.length));
}

function named(counts: ArrayLike<number>): FailureCounts {
  return Object.fromEntries(CAUSES.map((cause, i) => [cause, counts[i]])) as unknown as FailureCounts;
}

function together(models: readonly ModelFigures[]): ModelFairness['rareModels'] {
  const sum = (read: (model: ModelFigures) => number) => models.reduce((total, one) => total + read(one), 0);
  const offered = sum((model) => model.offered);
  return {
    models: models.length,
    offered,
    attainment: offered === 0 ? null : sum(({ ok }) => ok) / offered,
  };
}

function isAssessed({ offered }: ModelFigures): boolean {
  return offered >= FEWEST_REQUESTS;
}

function share({ offered, ok }: ModelFigures): number {
  return ok / offered;
}
