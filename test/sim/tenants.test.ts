import { describe, expect, it } from 'vitest';
import { exponential } from '../../src/base/random/distributions.js';
import { stream } from '../../src/base/random/streams.js';
import type { ArrivalSource } from '../../src/core/arrivals.js';
import { OUTCOME_OK } from '../../src/core/request.js';
import { LIMIT_SHARE } from '../../src/core/tenants.js';
import { MS, resnets, run } from './fixtures.js';

const SECONDS = 8;
const MODELS = 8;
const GPUS = 2;

/** Each tenant sends at random times at its rate, for all models evenly. */
class Senders implements ArrivalSource {
  timeNs = 0;
  model = 0;
  readonly sloNs = 50 * MS;
  user = 0;
  tenant = 0;
  private readonly random = stream(1, 'test-tenants');
  private readonly nextNs: number[];

  constructor(private readonly ratesRps: readonly number[]) {
    this.nextNs = ratesRps.map((rate) => this.gapNs(rate));
    this.advance();
  }

  advance(): void {
    const timeNs = Math.min(...this.nextNs);
    this.tenant = this.nextNs.indexOf(timeNs);
    this.nextNs[this.tenant] += this.gapNs(this.ratesRps[this.tenant]);
    this.timeNs = timeNs < SECONDS * 1e9 ? timeNs : Number.POSITIVE_INFINITY;
    this.model = Math.floor(this.random() * MODELS);
    this.user++;
  }

  private gapNs(rate: number): number {
    return Math.round((exponential(this.random) / rate) * 1e9);
  }
}

/** Requests in time of all; of each tenant the part that was; and those refused for a share. */
async function play(policy: string, ratesRps: readonly number[], shares?: readonly number[]) {
  const { answers } = await run({
    policy,
    models: resnets(MODELS),
    gpus: GPUS,
    pages: 7 * MODELS,
    defaultSloNs: 50 * MS,
    source: new Senders(ratesRps),
    seed: 1,
    tenants: (shares ?? []).map((share, t) => ({
      name: `t${t}`,
      rateRps: Number.POSITIVE_INFINITY,
      burst: 1,
      share,
    })),
  });
  const isOk = ({ outcome }: { outcome: number }) => outcome === OUTCOME_OK;
  const counts = ratesRps.map(
    (_, t) => answers.filter((answer) => answer.tenant === t && isOk(answer)).length,
  );
  return {
    counts,
    ok: answers.filter(isOk).length,
    parts: ratesRps.map((_, t) => {
      const own = answers.filter(({ tenant }) => tenant === t);
      return own.filter(isOk).length / own.length;
    }),
    refused: answers.filter(({ limit }) => limit === LIMIT_SHARE).length,
  };
}

/** An INFER of one request takes 2.73 ms: two GPUs do 733 requests a second one by one, and 1,846 in batches of 16. */
describe('shares of tenants', () => {
  it.each([
    ['escapement', 0.99],
    ['edf', 0.99],
  ])('under %s cost next to nothing while GPUs keep up', async (policy, least) => {
    const rates = [200, 400];
    const [free, shared] = [await play(policy, rates), await play(policy, rates, [1, 1])];
    expect(free.ok).toBeGreaterThan(0.95 * SECONDS * 600);
    expect(shared.ok).toBeGreaterThan(least * free.ok);
  });

  it.each(['escapement', 'edf'])('under %s leave all to a tenant that is alone', async (policy) => {
    const [free, shared] = [await play(policy, [2500, 0.01]), await play(policy, [2500, 0.01], [1, 1])];
    expect(shared.ok).toBeGreaterThan(0.98 * free.ok);
  });

  it.each([
    ['escapement', 0.97, 0.8],
    ['edf', 0.85, 0.8],
    ['clockwork', 0.9, 0.75],
  ])('under %s protect a tenant from one that floods', async (policy, leastPart, leastOk) => {
    const rates = [150, 2500];
    const [free, shared] = [await play(policy, rates), await play(policy, rates, [1, 1])];
    expect(free.parts[0]).toBeLessThan(0.85);
    expect(shared.parts[0]).toBeGreaterThan(leastPart);
    expect(shared.ok).toBeGreaterThan(leastOk * free.ok);
  });

  it.each(['escapement', 'edf', 'clockwork'])(
    'under %s divide GPUs among tenants that all flood',
    async (policy) => {
      const rates = [2500, 2000];
      const [free, shared] = [await play(policy, rates), await play(policy, rates, [3, 1])];
      const [heavy, light] = shared.counts;
      expect(heavy / light).toBeGreaterThan(3 * 0.85);
      expect(heavy / light).toBeLessThan(3 * 1.15);
      expect(shared.ok).toBeGreaterThan(0.95 * free.ok);
    },
  );
});
