import { expect, it } from 'vitest';
import type { ArrivalSource } from '../../src/core/arrivals.js';
import { Simulator } from '../../src/sim/index.js';
import { createPolicy, keepRecords } from './fixtures.js';
import { GOLDEN_RUNS } from './golden-runs.js';

/**
 * L = λW (Little 1961): requests present, summed over time, are the times that requests spend, summed over requests. One side
 * is what the controller's table held after each instant, the other what answers say of arrival and answer.
 */
it.each(GOLDEN_RUNS)('%s obeys Little’s law', async (_name, options) => {
  const { policy, options: policyOptions = {}, source, ...rest } = await options();
  const { answers, observer } = keepRecords();
  const watched = new WatchedSource(source);
  const simulator = new Simulator({
    ...rest,
    createPolicy: typeof policy === 'string' ? createPolicy(policy, policyOptions) : policy,
    source: watched.source,
    observer,
  });
  watched.simulator = simulator;
  await simulator.run();

  const spentNs = answers.reduce((sum, { arrivalNs, nowNs }) => sum + (nowNs - arrivalNs), 0);
  expect(simulator.controller.requests.size).toBe(0);
  expect(spentNs).toBeGreaterThan(0);
  expect(watched.presentNs).toBe(spentNs);
});

/** The simulator asks a source for its time once an instant is over, and before the next one begins. */
class WatchedSource {
  simulator: Simulator | null = null;
  /** Requests present × time. */
  presentNs = 0;
  readonly source: ArrivalSource;
  private size = 0;
  private sinceNs = 0;

  constructor(source: ArrivalSource) {
    this.source = new Proxy(source, {
      get: (target, key) => {
        if (key === 'timeNs') this.look();
        const value = Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  private look(): void {
    if (this.simulator === null) return;
    const { nowNs, controller } = this.simulator;
    this.presentNs += this.size * (nowNs - this.sinceNs);
    this.sinceNs = nowNs;
    this.size = controller.requests.size;
  }
}
