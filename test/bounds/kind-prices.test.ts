import { describe, expect, it } from 'vitest';
import { type Random, stream } from '../../src/base/random/streams.js';
import { kindPrices, rateAt } from '../../src/bounds/kind-prices.js';

const NEVER = Number.POSITIVE_INFINITY;

/** The most requests per second, with prices from `kindPrices`. */
function mostRps(gpus: number[], costMs: number[][], mix: number[]): number {
  const input = { gpus, costNs: costMs.map((costs) => costs.map((ms) => ms * 1e6)), mix };
  return rateAt(kindPrices(input), input);
}

/** The same for two kinds by filling the first with what it is best at, until the second can do the rest. */
function bySplitting([first, second]: number[], [onFirst, onSecond]: number[][], mix: number[]): number {
  const order = mix.map((_, m) => m).sort((a, b) => onFirst[a] / onSecond[a] - onFirst[b] / onSecond[b]);
  // Time of each kind per request in proportion to the mix, if the second does all.
  let firstMs = 0;
  let secondMs = mix.reduce((sum, share, m) => sum + share * onSecond[m], 0);
  for (const m of order) {
    const [toFirst, fromSecond] = [mix[m] * onFirst[m], mix[m] * onSecond[m]];
    // The share x of the model at which both kinds are equally busy.
    const x = (secondMs / second - firstMs / first) / (toFirst / first + fromSecond / second);
    if (x < 1) return (1000 / ((firstMs + x * toFirst) / first)) * total(mix);
    firstMs += toFirst;
    secondMs -= fromSecond;
  }
  return (1000 / (firstMs / first)) * total(mix);
}

function total(mix: number[]): number {
  return mix.reduce((sum, share) => sum + share, 0);
}

function list(random: Random, count: number, from: number, to: number): number[] {
  return Array.from({ length: count }, () => from + Math.floor(random() * (to - from + 1)));
}

describe('prices of kinds of GPUs', () => {
  it('prove what the best split of the models reaches', () => {
    const random = stream(1, 'kind-prices');
    for (let n = 0; n < 200; n++) {
      const models = 1 + Math.floor(6 * random());
      const gpus = list(random, 2, 1, 9);
      const costs = [list(random, models, 1, 20), list(random, models, 1, 20)];
      const mix = list(random, models, 1, 9);
      const what = JSON.stringify({ n, gpus, costs, mix });
      expect(mostRps(gpus, costs, mix) / bySplitting(gpus, costs, mix), what).toBeCloseTo(1, 5);
    }
  });

  it('see that a kind is scarce which alone can serve a model', () => {
    // The first kind can do 100/s of the first model, which is half of what comes; the second has time to spare for the other.
    expect(
      mostRps(
        [1, 50],
        [
          [10, 1],
          [NEVER, 1],
        ],
        [1, 1],
      ),
    ).toBeCloseTo(200, 2);
    expect(
      mostRps(
        [1, 1],
        [
          [10, NEVER],
          [NEVER, 5],
        ],
        [1, 1],
      ),
    ).toBeCloseTo(200, 2);
  });

  it('count models that no kind can serve as free', () => {
    expect(
      mostRps(
        [1, 1],
        [
          [10, NEVER],
          [10, NEVER],
        ],
        [1, 1],
      ),
    ).toBeCloseTo(400, 6);
    expect(mostRps([1, 1], [[NEVER], [NEVER]], [1])).toBe(NEVER);
  });
});
