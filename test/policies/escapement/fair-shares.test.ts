import { expect, it } from 'vitest';
import { OUTCOME_OK } from '../../../src/core/request.js';
import { ListSource, MS, poisson, resnets, run } from '../../sim/fixtures.js';

/** Attainment by model, of requests after the first second. */
async function attainment(fairness: number): Promise<number[]> {
  // One model in four takes six times as long; together they ask for more than twice what the GPU can do.
  const models = resnets(4).map((spec, i) =>
    i < 3 ? spec : { ...spec, execNs: spec.execNs.map((ns) => ns * 6) },
  );
  const arrivals = poisson({ seed: 1, rateRps: 1000, durationNs: 5000 * MS, models: 1, slosNs: [100 * MS] });
  const { answers } = await run({
    policy: 'escapement',
    options: { fairness },
    models,
    gpus: 1,
    pages: 100,
    defaultSloNs: 100 * MS,
    seed: 1,
    source: new ListSource(arrivals.map((arrival, i) => ({ ...arrival, model: i % 4 }))),
  });
  return models.map((_, model) => {
    const own = answers.filter((answer) => answer.model === model && answer.arrivalNs > 1000 * MS);
    return own.filter(({ outcome }) => outcome === OUTCOME_OK).length / own.length;
  });
}

it('a model that is dear starves where goodput alone counts, and gets its share where fairness does', async () => {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const greedy = await attainment(0);
  expect(greedy[3]).toBeLessThan(0.2);
  const fair = await attainment(0.55);
  expect(fair[3] / mean(fair)).toBeGreaterThan(0.5);
  expect(mean(fair)).toBeGreaterThan(0.45);
});
