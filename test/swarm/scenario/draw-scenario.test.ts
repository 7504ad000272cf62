import { expect, it } from 'vitest';
import { drawScenario } from './draw-scenario.js';
import { endNsOf } from './fault.js';

const SEEDS = Array.from({ length: 300 }, (_, seed) => seed);
const scenarios = SEEDS.map(drawScenario);

it('draws the same scenario from the same seed, as plain data', () => {
  expect(drawScenario(7)).toEqual(scenarios[7]);
  expect(JSON.parse(JSON.stringify(scenarios))).toEqual(scenarios);
  expect(new Set(scenarios.map((scenario) => JSON.stringify({ ...scenario, seed: 0 }))).size).toBe(
    SEEDS.length,
  );
});

it('draws clusters within the limits of the swarm', () => {
  for (const { cluster } of scenarios) {
    const gpus = cluster.machines.reduce((sum, machine) => sum + machine.gpus, 0);
    expect(gpus).toBeGreaterThan(0);
    expect(gpus).toBeLessThanOrEqual(20);
    expect(cluster.controllers.length).toBeLessThanOrEqual(3);
    for (const { pages } of cluster.models) expect(pages).toBeLessThanOrEqual(cluster.pages);
  }
});

it('ends all faults when the load ends, and names processes that there are', () => {
  for (const { cluster, faults, loadNs } of scenarios) {
    const names = [...cluster.machines, ...cluster.controllers].map(({ name }) => name);
    for (const fault of faults) {
      expect(endNsOf(fault)).toBeLessThanOrEqual(loadNs);
      const { process, machine, from, to } = fault as unknown as Record<string, string | undefined>;
      for (const name of [process, machine, from, to]) if (name !== undefined) expect(names).toContain(name);
    }
  }
});

it('draws pipelines with joins, rows that clients or models deal out, and GPUs of several kinds, classes, tenants and scalers', () => {
  const clusters = scenarios.map(({ cluster }) => cluster);
  const drawn = (isDrawn: (cluster: (typeof clusters)[number]) => boolean) => clusters.filter(isDrawn).length;
  expect(drawn(({ machines }) => new Set(machines.map(({ kind }) => kind?.name)).size > 1)).toBeGreaterThan(
    30,
  );
  expect(
    drawn(({ machines, pages }) => machines.some(({ kind = { pages } }) => kind.pages < pages)),
  ).toBeGreaterThan(10);
  expect(drawn(({ machines }) => machines.some(({ lacks = [] }) => lacks.length > 0))).toBeGreaterThan(20);
  expect(drawn(({ classes }) => classes !== undefined)).toBeGreaterThan(50);
  expect(drawn(({ tenants = [] }) => tenants.some(({ rateRps }) => rateRps !== null))).toBeGreaterThan(50);
  const steps = clusters.flatMap(({ pipelines = [] }) => pipelines.flatMap((pipeline) => pipeline.steps));
  expect(steps.filter(({ after }) => after.length > 1).length).toBeGreaterThan(50);
  expect(steps.filter(({ source, isDealt }) => source === null && isDealt).length).toBeGreaterThan(50);
  expect(steps.filter(({ source, isDealt }) => source !== null && isDealt).length).toBeGreaterThan(50);
  expect(steps.filter(({ models }) => models.length > 1).length).toBeGreaterThan(50);
  expect(drawn(({ models }) => models.some(({ yieldsRows }) => yieldsRows))).toBeGreaterThan(50);
  for (const kind of ['reactive', 'predictive'])
    expect(drawn(({ scaler }) => scaler?.kind === kind)).toBeGreaterThan(20);
  const clients = scenarios.flatMap(({ workload }) => workload.clients);
  expect(new Set(clients.map(({ requestClass }) => requestClass)).size).toBe(4 + 1);
  expect(new Set(clients.map(({ tenant }) => tenant)).size).toBe(4 + 1);
});

it('draws each kind of fault, runs without any, and many combinations', () => {
  const plans = scenarios.map(({ faults }) => [...new Set(faults.map(({ kind }) => kind))].sort().join());
  expect(new Set(plans.join().split(',')).size).toBe(22 + 1);
  expect(plans.filter((kinds) => kinds === '').length).toBeGreaterThan(20);
  expect(new Set(plans).size).toBeGreaterThan(150);
});
