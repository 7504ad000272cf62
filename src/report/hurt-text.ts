import { CAUSE_LABELS, CAUSES, type FailureCounts } from '../record/causes.js';
import type { MeasuredSummary } from '../record/figures.js';
import { FEWEST_REQUESTS } from '../record/model-fairness.js';
import type { ModelFairness, ModelFigures } from '../record/results.js';
import { formatCount, formatPercent } from '../text/numbers.js';

/** Largest number of models in a table. */
const MOST_MODELS = 20;

/** Models with failed requests, worst first, as many as a table or chart shows. */
export function hurtModels(models: readonly ModelFigures[], most = MOST_MODELS): ModelFigures[] {
  return models.filter(({ requests }) => requests.ok < requests.offered).slice(0, most);
}

/**
 * Models that were served badly: `worst is resnet50 with 0 % of 35 in time; 30 of 305 models below 50 %, 41 below 90 %;
 * 12 with fewer than 20 requests: together 38.1 % in time`. Empty if nothing stands out: each model with enough
 * requests got 90 % of them in time, and so did the others together; also with only one model.
 */
export function modelsText(fairness: ModelFairness): string {
  if (!standsOut(fairness)) return '';
  const worst = worstText(fairness);
  return [...(worst === '' ? [] : [`worst is ${worst}`]), ...rareTexts(fairness)].join('; ');
}

/** Share in time below which a model is served badly. */
const LITTLE = 0.9;

function standsOut({ worstModel, modelsBelow90, modelsAssessed, rareModels }: ModelFairness): boolean {
  const { models, attainment } = rareModels;
  if (modelsAssessed + models < 2) return false;
  // With so few requests in all, each failure is worth mentioning.
  return modelsBelow90 > 0 || (attainment ?? 1) < (worstModel === null ? 1 : LITTLE);
}

function worstText({ worstModel, modelsBelow50, modelsBelow90, modelsAssessed }: ModelFairness): string {
  if (worstModel === null) return '';
  const { name, attainment, offered } = worstModel;
  const below =
    modelsAssessed === 1
      ? ''
      : `; ${formatCount(modelsBelow50)} of ${formatCount(modelsAssessed)} models below 50 %, ${formatCount(modelsBelow90)} below 90 %`;
  return `${name} with ${formatPercent(attainment)} of ${formatCount(offered)} in time${below}`;
}

/** Models with too few requests to be assessed. */
function rareTexts({ rareModels: { models, attainment } }: ModelFairness): string[] {
  if (attainment === null) return [];
  const together = models === 1 ? '' : 'together ';
  return [
    `${formatCount(models)} with fewer than ${FEWEST_REQUESTS} requests: ${together}${formatPercent(attainment)} in time`,
  ];
}

/** Reasons for failures: `1,235 (1.4 %): 1,090 timed out cold, 145 refused`. Empty if none failed or none is known. */
export function failuresText({ failures, requests }: MeasuredSummary): string {
  const failed = requests.offered - requests.ok;
  if (failures === undefined || failed === 0) return '';
  return `${formatCount(failed)} (${formatPercent(failed / requests.offered)}): ${causesText(failures)}`;
}

/** Causes that occurred, most frequent first: `1,090 timed out cold, 145 refused`. */
export function causesText(failures: FailureCounts): string {
  return CAUSES.filter((cause) => failures[cause] > 0)
    .sort((a, b) => failures[b] - failures[a])
    .map((cause) => `${formatCount(failures[cause])} ${CAUSE_LABELS[cause]}`)
    .join(', ');
}
