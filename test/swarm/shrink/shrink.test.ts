import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NS_PER_S } from '../../../src/base/units.js';
import { drawScenario } from '../scenario/draw-scenario.js';
import { endNsOf } from '../scenario/fault.js';
import type { Scenario } from '../scenario/scenario.js';
import { ddmin } from './ddmin.js';
import { shrink } from './shrink.js';

it('finds the items that it takes, whichever they are', async () => {
  const items = Array.from({ length: 40 }, (_, i) => i);
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.nat(39), { maxLength: 5 }), async (guilty) => {
      const found = await ddmin(items, async (part) => guilty.every((item) => part.includes(item)));
      expect(found).toEqual([...guilty].sort((a, b) => a - b));
    }),
  );
});

it('keeps no item that could be left out, although the failure is not monotonic', async () => {
  const items = Array.from({ length: 17 }, (_, i) => i);
  const fails = async (part: readonly number[]) => part.length % 3 === 2;
  const found = await ddmin(items, fails);
  expect(await fails(found)).toBe(true);
  for (const item of found) expect(await fails(found.filter((other) => other !== item))).toBe(false);
});

it('shrinks a scenario to the fault, the worker and the model that matter', async () => {
  const scenario = bigScenario();
  const [fault] = scenario.faults.filter(({ kind }) => kind === 'crash');
  const { process } = fault as Extract<typeof fault, { kind: 'crash' }>;
  const model = scenario.workload.clients[0].models[0];
  const fails = async ({ faults, workload }: Scenario) =>
    faults.some((each) => each.kind === 'crash' && each.process === process) &&
    workload.clients.some(({ models }) => models.includes(model));
  const smallest = await shrink(scenario, { fails, failedNs: scenario.loadNs, mostRuns: 1000 });
  expect(smallest.faults).toHaveLength(1);
  expect(smallest.workload.clients).toHaveLength(1);
  expect(smallest.workload.changes).toEqual([]);
  expect(smallest.cluster.models.map(({ name }) => name)).toEqual([model]);
  expect(smallest.cluster.machines.length + smallest.cluster.controllers.length).toBeLessThanOrEqual(3);
  expect(await fails(smallest)).toBe(true);
});

it('leaves out at once what comes after the failure', async () => {
  const scenario = bigScenario();
  const failedNs = scenario.loadNs / 4;
  const tried: Scenario[] = [];
  const fails = async (candidate: Scenario) => tried.push(candidate) === 1;
  const { loadNs, faults, workload } = await shrink(scenario, { fails, failedNs, mostRuns: 1 });
  expect(loadNs).toBe(Math.ceil(failedNs + NS_PER_S / 10));
  for (const fault of faults) expect(endNsOf(fault)).toBeLessThanOrEqual(loadNs);
  for (const { endNs } of workload.clients) expect(endNs).toBeLessThanOrEqual(loadNs);
});

it('stops after so many runs, with the smallest so far', async () => {
  let runs = 0;
  const fails = async ({ faults }: Scenario) => {
    runs++;
    return faults.length > 0;
  };
  const smallest = await shrink(bigScenario(), { fails, failedNs: Number.POSITIVE_INFINITY, mostRuns: 10 });
  expect(runs).toBe(10);
  expect(smallest.faults.length).toBeGreaterThan(0);
});

/** With several faults, crashes among them, workers, clients and models. */
function bigScenario(): Scenario {
  for (let seed = 0; ; seed++) {
    const scenario = drawScenario(seed);
    const { cluster, faults, workload } = scenario;
    const isBig = cluster.machines.length > 2 && cluster.models.length > 3 && workload.clients.length > 2;
    if (isBig && faults.length > 8 && faults.some(({ kind }) => kind === 'crash')) return scenario;
  }
}
