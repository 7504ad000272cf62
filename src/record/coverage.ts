import { figureOf, type MeasuredSummary } from './figures.js';
import { FEWEST_REQUESTS } from './model-fairness.js';

/** Part of a run that a figure of its models covers. */
interface Coverage {
  /** False if no models were assessed, or the assessed ones received less than half of the requests. */
  readonly tells: boolean;
  /** Share of the models with requests that were assessed. */
  readonly assessed: number;
  /** `12 of 15 models assessed`, or why the figure says nothing about how models were served. */
  readonly text: string;
}

/** Coverage of a figure of assessed models; null if the figure is of all requests. */
export function coverageOf(
  metric: string,
  { requests, modelsAssessed, rareModels }: MeasuredSummary,
): Coverage | null {
  const models = modelsAssessed + rareModels.models;
  if (figureOf(metric)?.ofAssessedModels !== true || models === 0) return null;
  const tells = modelsAssessed > 0 && rareModels.offered <= requests.offered / 2;
  const assessed = `${modelsAssessed} of ${models} models`;
  const few =
    modelsAssessed === 0
      ? `no model had ${FEWEST_REQUESTS} requests`
      : `only ${assessed} had ${FEWEST_REQUESTS} requests`;
  return {
    tells,
    assessed: modelsAssessed / models,
    text: tells ? `${assessed} assessed` : `cannot tell: ${few}`,
  };
}
