import * as z from 'zod';
import { CAUSE_LABELS, CAUSE_MEANINGS, CAUSES, type Cause } from './causes.js';
import { count, FIGURES, share, shareOrNull, text } from './schema-figure.js';

/** Failed requests by cause. */
export const failureCountsSchema = z.object(
  Object.fromEntries(CAUSES.map((cause) => [cause, causeCount(cause)])) as Record<
    Cause,
    ReturnType<typeof causeCount>
  >,
);

/** Count of a cause; absent in results older than the cause. */
function causeCount(cause: Cause) {
  const field = count().default(0).describe(CAUSE_MEANINGS[cause]);
  // `late` is already a figure, as an outcome.
  if (cause === 'late') return field;
  const label = CAUSE_LABELS[cause];
  return field.register(FIGURES, { unit: 'count', label, better: 'lower', ofScheduler: true });
}

/** Fairness over models, because overall attainment hides models that got nothing. */
export const modelFairnessShape = {
  worstModel: z
    .object({
      name: text('Name of the model.'),
      attainment: share('Lowest attainment of a model with at least 20 requests.').register(FIGURES, {
        ...{ unit: 'share', name: 'worstModelAttainment', label: 'worst model attainment' },
        ...{ better: 'higher', ofAssessedModels: true },
      }),
      offered: count('Its requests.'),
    })
    .nullable()
    .describe('Model with the lowest attainment of those with at least 20 requests.'),
  modelsBelow50: modelsBelow('50 %', 'half'),
  modelsBelow90: modelsBelow('90 %'),
  modelsAssessed: count('Models with at least 20 requests: the figures above are of these.'),
  rareModels: z
    .object({
      models: count('Models with 1 to 19 requests.'),
      offered: count('Their requests.'),
      attainment: shareOrNull('Attainment of the models with 1 to 19 requests, taken together.').register(
        FIGURES,
        {
          ...{ unit: 'share', name: 'rareModelsAttainment', label: 'rare models attainment' },
          better: 'higher',
        },
      ),
    })
    .describe('Models with too few requests to be assessed one by one, taken together.'),
};

function modelsBelow(attainment: string, label = attainment) {
  return count(`Models with at least 20 requests and an attainment below ${attainment}.`).register(FIGURES, {
    ...{ unit: 'count', label: `models below ${label}`, better: 'lower' },
    ofAssessedModels: true,
  });
}
