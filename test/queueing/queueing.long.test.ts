import { describe, expect, it } from 'vitest';
import { type Observed, observe, observeChain, SERVICE_MS } from './station.js';
import {
  erlangB,
  erlangC,
  responsePercentileMM1,
  waitBatchService,
  waitMDk,
  waitMG1,
  waitMMk,
  waitPercentileMD1,
} from './theory.js';

/** Student's t, 19 degrees of freedom, two-sided 99.9 %: one in a thousand right figures lies outside. */
const T = 3.883;
/** An interval that is wider than this share of the figure would show little. */
const WIDEST = 0.1;

describe('a station is simulated as queueing theory says', () => {
  it.each([[0.7, 400]])('M/M/1 with a load of %d', async (load, seconds) => {
    const runs = await observe({ servers: 1, load, durations: 'exponential', seconds });
    agrees(runs, ({ meanWaitMs }) => meanWaitMs, waitMMk(1, load, SERVICE_MS));
    agrees(runs, ({ waited }) => waited, load);
    agrees(runs, ({ p50ResponseMs }) => p50ResponseMs, responsePercentileMM1(0.5, load, SERVICE_MS));
    agrees(runs, ({ p99ResponseMs }) => p99ResponseMs, responsePercentileMM1(0.99, load, SERVICE_MS));
    for (const n of [0, 1, 4]) agrees(runs, ({ present }) => present[n]!, (1 - load) * load ** n);
  });

  it.each([[0.7, 200]])('M/D/1 with a load of %d', async (load, seconds) => {
    const runs = await observe({ servers: 1, load, durations: 'constant', seconds });
    agrees(runs, ({ meanWaitMs }) => meanWaitMs, waitMG1(load, SERVICE_MS, 0));
    agrees(runs, ({ waited }) => waited, load);
    const p99 = SERVICE_MS + waitPercentileMD1(0.99, load, SERVICE_MS);
    agrees(runs, ({ p99ResponseMs }) => p99ResponseMs, p99);
    agrees(runs, ({ present }) => present[0]!, 1 - load);
  });

  it.each([
    [2, 1.6, 300],
    [16, 13, 40],
  ])('M/M/%d with a load of %d', async (servers, load, seconds) => {
    const runs = await observe({ servers, load, durations: 'exponential', seconds });
    agrees(runs, ({ waited }) => waited, erlangC(servers, load));
    agrees(runs, ({ meanWaitMs }) => meanWaitMs, waitMMk(servers, load, SERVICE_MS));
    agrees(runs, ({ meanResponseMs }) => meanResponseMs, waitMMk(servers, load, SERVICE_MS) + SERVICE_MS);
  });

  it.each([[8, 6.4, 50]])('M/D/%d with a load of %d', async (servers, load, seconds) => {
    const runs = await observe({ servers, load, durations: 'constant', seconds });
    agrees(runs, ({ meanWaitMs }) => meanWaitMs, waitMDk(servers, load, SERVICE_MS));
  });

  // Departures of M/M/1 are Poisson again (Burke 1956), so each station is M/M/1 on its own.
  it.each([[3, 0.7, 300]])(
    '%d stations in a row, each M/M/1 with a load of %d',
    async (stations, load, seconds) => {
      const means = await observeChain(stations, load, seconds);
      const expected = stations * (waitMMk(1, load, SERVICE_MS) + SERVICE_MS);
      agrees(means, (meanMs) => meanMs, expected);
    },
  );

  it.each([[10, 8]])(
    '%d servers without a waiting room lose what Erlang says, with a load of %d',
    async (servers, load) => {
      const runs = await observe({ servers, load, durations: 'constant', loses: true, seconds: 50 });
      agrees(runs, ({ lost }) => lost, erlangB(servers, load));
    },
  );

  it.each([
    [16, 4],
    [8, 7],
  ])('batches of up to %d, with a load of %d', async (maxBatch, load) => {
    const runs = await observe({ servers: 1, load, durations: 'constant', maxBatch, seconds: 50 });
    agrees(runs, ({ meanWaitMs }) => meanWaitMs, waitBatchService(maxBatch, load, SERVICE_MS));
  });
});

/** The figure lies within the confidence interval that the runs give, and this is narrow enough to tell. */
function agrees<T = Observed>(runs: readonly T[], of: (run: T) => number, expected: number): void {
  const values = runs.map(of);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  const half = T * Math.sqrt(variance / values.length);
  const what = `${of}: theory says ${expected}, the simulation ${mean} ± ${half}`;
  expect(half / expected, what).toBeLessThan(WIDEST);
  expect(Math.abs(mean - expected), what).toBeLessThanOrEqual(half);
}
