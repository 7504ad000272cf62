import { figureOf, type MeasuredSummary } from './figures.js';
import { FEWEST_REQUESTS } from './model-figures.js';

/** How much of a run a figure of its models covers. */
interface Coverage {
  /** False: no models were assessed, or those that were got less than half of the requests. */
  readonly tells: boolean;
  /** Of the models that had requests, the share that was assessed. */
  readonly assessed: number;
  /** `12 of 15 models assessed`, or why the figure cannot say how models were served. */
  readonly text: string;
}

/** What a figure covers that is only of the assessed models; null: it is of all requests. */
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
