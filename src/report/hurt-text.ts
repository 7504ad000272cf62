import { CAUSE_LABELS, CAUSES, type FailureCounts } from '../record/causes.js';
import type { MeasuredSummary } from '../record/figures.js';
import { FEWEST_REQUESTS } from '../record/model-fairness.js';
import type { ModelFairness, ModelFigures } from '../record/results.js';
import { formatCount, formatPercent } from '../text/numbers.js';
import { present } from './lists.js';

/** Largest number of models in a table. */
const MOST_MODELS = 20;

/** Models with failed requests, worst first, as many as a table or chart shows. */
export function hurtModels(models: readonly ModelFigures[], most = MOST_MODELS): ModelFigures[] {
  return models.filter(({ requests }) => requests.ok < requests.offered).slice(0, most);
}

/** Attainment below which a model is served badly. */
const LITTLE = 0.9;

/**
 * Models that were served badly: `worst is resnet50 with 0 % of 35 in time; 30 of 305 models below 50 %, 41 below 90 %;
 * 12 with fewer than 20 requests: 38.1 % in time`. Empty if none were, and with only one model.
 */
export function modelsText(fairness: ModelFairness): string {
  const { worstModel, modelsBelow50, modelsBelow90, modelsAssessed, rareModels } = fairness;
  if (modelsAssessed + rareModels.models < 2) return '';
  const isBad = worstModel !== null && worstModel.attainment < LITTLE;
  const [half, most, all, rare] = [modelsBelow50, modelsBelow90, modelsAssessed, rareModels.models].map(
    formatCount,
  );
  return present(
    isBad &&
      `worst is ${worstModel.name} with ${formatPercent(worstModel.attainment)} of ${formatCount(worstModel.offered)} in time`,
    isBad && `${half} of ${all} models below 50 %, ${most} below 90 %`,
    (rareModels.attainment ?? 1) < LITTLE &&
      `${rare} with fewer than ${FEWEST_REQUESTS} requests: ${formatPercent(rareModels.attainment)} in time`,
  ).join('; ');
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
