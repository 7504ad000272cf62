import * as z from 'zod';
import { CAUSE_MEANINGS, CAUSES, type Cause } from './causes.js';

const count = () => z.int().nonnegative();
const share = () => z.number().min(0).max(1);

/** Failed requests by cause. */
export const failureCountsSchema = z.object(
  Object.fromEntries(CAUSES.map((cause) => [cause, causeCount(CAUSE_MEANINGS[cause])])) as Record<
    Cause,
    ReturnType<typeof causeCount>
  >,
);

/** Count of a cause; absent in results older than the cause. */
function causeCount(meaning: string) {
  return count().default(0).describe(meaning);
}

/** Fairness over models: the overall attainment would hide models that got nothing. */
export const modelFairnessShape = {
  worstModel: z
    .object({
      name: z.string().describe('Name of the model.'),
      attainment: share().describe('Share of its requests that were answered within their SLO.'),
      offered: count().describe('Its requests.'),
    })
    .nullable()
    .describe('Model with the lowest attainment of those with at least 20 requests; null if there is none.'),
  modelsBelow50: count().describe('Models with at least 20 requests and an attainment below 50 %.'),
  modelsBelow90: count().describe('Models with at least 20 requests and an attainment below 90 %.'),
  modelsAssessed: count().describe('Models with at least 20 requests: the figures above are of these.'),
  rareModels: z
    .object({
      models: count().describe('Models with 1 to 19 requests.'),
      offered: count().describe('Their requests.'),
      attainment: share()
        .nullable()
        .describe('Share of these that were answered within their SLO; null if there are none.'),
    })
    .describe('Models with too few requests to be assessed one by one, taken together.'),
};
