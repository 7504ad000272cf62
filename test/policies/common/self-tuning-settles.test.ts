import { describe, expect, it } from 'vitest';
import { OUTCOME_OK } from '../../../src/core/request.js';
import { Simulator, type SimulatorOptions } from '../../../src/sim/index.js';
import { type Arrival, createPolicy, ListSource, MS, poisson, resnets } from '../../sim/fixtures.js';

const S = 1000 * MS;
const noise = (exec: number) => ({ exec, load: 0, stragglers: 0, stragglerFactor: 1 });
const network = (delayMs: number) => ({ delayNs: delayMs * MS, jitterNs: 0 });
const USUAL = { noise: noise(0.02), network: network(0.5) };

interface Course {
  readonly timesNs: number[];
  /** schedule_ahead at these times, when an action had a result. */
  readonly aheadMs: number[];
  readonly attainment: number;
}

function traffic(seed: number, rateRps: number, fromNs: number, toNs: number): Arrival[] {
  const arrivals = poisson({ seed, rateRps, durationNs: toNs - fromNs, models: 15, slosNs: [50 * MS] });
  return arrivals.map((arrival) => ({ ...arrival, timeNs: arrival.timeNs + fromNs }));
}

/**
 * 15 models on one GPU with room for all; SLO 50 ms, 0.5 ms of network delay and 2 % of noise. Attainment is that of
 * requests that arrive from `countFromNs` on.
 */
async function course(
  policy: string,
  arrivals: Arrival[],
  { countFromNs = 0, ...over }: Partial<SimulatorOptions> & { countFromNs?: number } = {},
): Promise<Course> {
  const timesNs: number[] = [];
  const aheadMs: number[] = [];
  let answered = 0;
  let served = 0;
  const simulator = new Simulator({
    models: resnets(15),
    gpus: 1,
    pages: 1376,
    seed: 1,
    defaultSloNs: 50 * MS,
    ...USUAL,
    ...over,
    createPolicy: createPolicy(policy, { scheduleAhead: 'auto' }),
    source: new ListSource(arrivals),
    observer: {
      answered: ({ arrivalNs }, slot, outcome) => {
        if (arrivalNs[slot] < countFromNs) return;
        answered++;
        if (outcome === OUTCOME_OK) served++;
      },
      completed: (_action, nowNs) => {
        timesNs.push(nowNs);
        aheadMs.push(simulator.controller.tuned.scheduleAheadNs / MS);
      },
    },
  });
  await simulator.run();
  return { timesNs, aheadMs, attainment: served / answered };
}

/** Of the values from a time on: mean, range, and how often they turned from rising to falling or back. */
function settled({ timesNs, aheadMs }: Course, fromNs: number) {
  const values = aheadMs.filter((_, i) => timesNs[i] >= fromNs);
  const changes = values.map((value, i) => value - (values[i - 1] ?? value)).filter((change) => change !== 0);
  return {
    mean: values.reduce((sum, value) => sum + value, 0) / values.length,
    range: Math.max(...values) - Math.min(...values),
    turns: changes.filter((change, i) => i > 0 && change * changes[i - 1] < 0).length,
  };
}

describe.each(['clockwork', 'escapement'])('%s with scheduleAhead: auto', (policy) => {
  it('has settled within two seconds after the network has become 5 ms slower', async () => {
    const changes = [{ atNs: 4 * S, ...USUAL, network: network(5.5) }];
    const run = await course(policy, traffic(1, 400, 0, 10 * S), { changes });
    const { mean, range, turns } = settled(run, 6 * S);
    // As long as an action needs to get there, and a little.
    expect(mean).toBeGreaterThan(5.4);
    expect(mean).toBeLessThan(6.5);
    expect(range).toBeLessThan(0.1 * mean);
    expect(turns).toBeLessThanOrEqual(1);
    expect(run.attainment).toBeGreaterThan(0.98);
  });

  it('has settled within two seconds after noise has become five times as strong', async () => {
    const changes = [{ atNs: 4 * S, ...USUAL, noise: noise(0.1) }];
    const run = await course(policy, traffic(1, 400, 0, 10 * S), { changes });
    const { mean, range, turns } = settled(run, 6 * S);
    expect(range).toBeLessThan(0.3 * mean);
    expect(turns).toBeLessThanOrEqual(1);
    expect(run.attainment).toBeGreaterThan(0.98);
  });

  it('has settled within two seconds after load has become three times as high', async () => {
    const arrivals = [...traffic(1, 400, 0, 4 * S), ...traffic(2, 1200, 4 * S, 10 * S)];
    const { mean, range, turns } = settled(await course(policy, arrivals), 6 * S);
    expect(range).toBeLessThan(0.3 * mean);
    expect(turns).toBeLessThanOrEqual(1);
  });

  it('recovers from a network that was too slow for any SLO, as soon as it is fast again', async () => {
    const changes = [
      { atNs: 2 * S, ...USUAL, network: network(40) },
      { atNs: 4 * S, ...USUAL },
    ];
    const run = await course(policy, traffic(1, 400, 0, 10 * S), { changes, countFromNs: 5.5 * S });
    expect(run.attainment).toBeGreaterThan(0.98);
    expect(settled(run, 7 * S).mean).toBeLessThan(4);
  });
});
