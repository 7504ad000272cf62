import type { ModelFairness, ModelFigures } from './results.js';

/** Fewest requests for a model to be assessed: with fewer, attainment says little. */
export const FEWEST_REQUESTS = 20;

/**
 * Models by attainment, the worst first; those with too few requests to be assessed last; ties by number of requests,
 * the most first.
 */
export function worstFirst(models: readonly ModelFigures[]): ModelFigures[] {
  return models.toSorted(
    (a, b) =>
      Number(isAssessed(b)) - Number(isAssessed(a)) ||
      a.attainment! - b.attainment! ||
      b.requests.offered - a.requests.offered,
  );
}

/** Summary of assessed models, and of the others together. `models`: all with requests, the worst first. */
export function modelFairness(models: readonly ModelFigures[]): ModelFairness {
  const assessed = models.filter(isAssessed);
  const rare = models.slice(assessed.length);
  const below = (limit: number) => assessed.filter(({ attainment }) => attainment! < limit).length;
  const [worst] = assessed;
  return {
    worstModel:
      worst === undefined
        ? null
        : { name: worst.key, attainment: worst.attainment!, offered: worst.requests.offered },
    modelsBelow50: below(0.5),
    modelsBelow90: below(0.9),
    modelsAssessed: assessed.length,
    rareModels: together(rare),
  };
}

function together(models: readonly ModelFigures[]): ModelFairness['rareModels'] {
  const sum = (of: 'offered' | 'ok') => models.reduce((total, { requests }) => total + requests[of], 0);
  const offered = sum('offered');
  return { models: models.length, offered, attainment: offered === 0 ? null : sum('ok') / offered };
}

/** True if the model has enough requests to be assessed. */
export function isAssessed({ requests }: Pick<ModelFigures, 'requests'>): boolean {
  return requests.offered >= FEWEST_REQUESTS;
}
