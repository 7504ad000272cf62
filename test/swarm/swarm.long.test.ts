import { expect, it } from 'vitest';
import { judge, verdictOf } from './run/judge.js';
import { drawScenario } from './scenario/draw-scenario.js';

/** `npm run soak` draws fresh ones. What these find becomes a file in `regressions`. */
const SEEDS = Array.from({ length: 40 }, (_, seed) => seed);
const FAULT_KINDS = 22;

it('40 seeds hold all kinds of faults and of clusters', () => {
  const scenarios = SEEDS.map(drawScenario);
  expect(new Set(scenarios.flatMap(({ faults }) => faults.map(({ kind }) => kind))).size).toBe(FAULT_KINDS);
  const clusters = scenarios.map(({ cluster }) => cluster);
  for (const has of [
    (cluster: (typeof clusters)[number]) => cluster.controllers.length > 1,
    ({ machines }) => new Set(machines.map(({ kind }) => kind?.name)).size > 1,
    ({ joining }) => joining === 'registers',
    ({ control }) => control === 'explicit',
    ({ admission }) => admission === 'predict',
    ({ classes }) => classes !== undefined,
    ({ tenants }) => tenants !== undefined,
    ({ scaler }) => scaler !== undefined,
  ] satisfies ((cluster: (typeof clusters)[number]) => boolean)[])
    expect(clusters.some(has), String(has)).toBe(true);
});

it.each(SEEDS)('seed %i: a live cluster keeps what it promises', async (seed) => {
  expect(verdictOf(await judge(drawScenario(seed)))).toBe('');
});
