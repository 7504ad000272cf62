import { describe, expect, it } from 'vitest';
import { OUTCOME_OK } from '../../src/core/request.js';
import { NO_DELAY } from '../../src/sim/index.js';
import {
  type Arrival,
  ListSource,
  MS,
  poisson,
  type Run,
  type RunOptions,
  resnets,
  run,
} from './fixtures.js';

/** One request for a cold ResNet-50 takes a LOAD and an INFER. */
const LOAD_NS = 8_310_000;
const INFER_NS = 2_730_000;

function one(arrivals: readonly Arrival[], over: Partial<RunOptions> = {}): Promise<Run> {
  return run({
    models: resnets(2),
    gpus: 1,
    pages: 100,
    defaultSloNs: 100 * MS,
    policy: 'clockwork',
    seed: 1,
    checks: true,
    source: new ListSource(arrivals),
    ...over,
  });
}

const REQUEST = { timeNs: 5 * MS, model: 0, sloNs: 100 * MS };

describe('Simulator: one request', () => {
  it('takes a LOAD and an INFER when its model is cold, counted from its arrival', async () => {
    const { answers, actions } = await one([REQUEST]);
    expect(answers).toHaveLength(1);
    const [{ outcome, nowNs, arrivalCopies }] = answers;
    expect([outcome, nowNs - REQUEST.timeNs, arrivalCopies]).toEqual([OUTCOME_OK, LOAD_NS + INFER_NS, 0]);
    expect(actions.map(({ beginNs, endNs }) => [beginNs, endNs])).toEqual([
      [5 * MS, 5 * MS + LOAD_NS],
      [5 * MS + LOAD_NS, 5 * MS + LOAD_NS + INFER_NS],
    ]);
  });
});

describe('Simulator: changes during the run', () => {
  const requests = [0, 100, 200].map((ms) => ({ timeNs: ms * MS, model: 0, sloNs: 90 * MS }));
  const infersOf = async (options: Parameters<typeof one>[1]) =>
    (await one(requests, options)).actions.filter(({ kind }) => kind === 2);
  const straggling = { exec: 0, load: 0, stragglers: 1, stragglerFactor: 3 };
  const calm = { ...straggling, stragglers: 0 };

  it('noise holds for what starts after it changed', async () => {
    const infers = await infersOf({
      changes: [
        { atNs: 50 * MS, noise: straggling, network: NO_DELAY },
        { atNs: 100 * MS + 1, noise: calm, network: NO_DELAY },
      ],
    });
    expect(infers.map(({ beginNs, endNs }) => endNs - beginNs)).toEqual([INFER_NS, 3 * INFER_NS, INFER_NS]);
  });

  it('messages take the new delay, up and down again', async () => {
    const infers = await infersOf({
      changes: [
        { atNs: 50 * MS, noise: calm, network: { delayNs: 5 * MS, jitterNs: 0 } },
        { atNs: 150 * MS, noise: calm, network: NO_DELAY },
      ],
    });
    expect(infers.slice(1).map(({ beginNs, endNs, handledNs }) => [beginNs, handledNs - endNs])).toEqual([
      [105 * MS, 5 * MS],
      [200 * MS, 0],
    ]);
  });
});

describe('Simulator: wrong profiles', () => {
  it('the GPU runs as the model is, the scheduler expects what the profile says until it has measured', async () => {
    const noise = { exec: 0, load: 0, stragglers: 0, stragglerFactor: 1, profile: 0.15 };
    const requests = [0, 100].map((ms) => ({ timeNs: ms * MS, model: 0, sloNs: 90 * MS }));
    const { actions } = await one(requests, { noise });
    const infers = actions.filter(({ kind }) => kind === 2);
    const [first, second] = infers.map(({ beginNs, endNs }) => endNs - beginNs);
    expect(second).toBe(first);
    expect(Math.abs((first as number) / INFER_NS - 1)).toBeLessThanOrEqual(0.15);
    expect(first).not.toBe(INFER_NS);
    expect(infers[0]?.expectedDurationNs).toBe(INFER_NS);
  });
});

describe('Simulator: sources', () => {
  it('that must read on are refilled, and it makes no difference, also among requests of one instant', async () => {
    const spread = poisson({ seed: 2, rateRps: 300, durationNs: 1e9, models: 2, slosNs: [50 * MS] });
    const arrivals = spread.map(({ timeNs, ...rest }) => ({
      ...rest,
      timeNs: timeNs - (timeNs % (10 * MS)),
    }));
    const whole = await one(arrivals);
    const parts = await one([], { source: new PiecewiseSource(arrivals) });
    expect(parts.digest).toBe(whole.digest);
    expect(parts.offered).toBe(arrivals.length);
  });
});

/** Has to be refilled before every tenth arrival. */
class PiecewiseSource extends ListSource {
  starved = false;
  private advances = 0;

  override advance(): void {
    const { timeNs } = this;
    if (this.advances++ % 10 === 5) {
      this.starved = true;
      this.timeNs = timeNs;
    } else super.advance();
  }

  async refill(): Promise<void> {
    await Promise.resolve();
    this.starved = false;
    super.advance();
  }
}
