import { join } from 'node:path';
import { expect, test } from 'vitest';
import { buildExperiment, parseExperimentSource } from '../../../src/config/build.js';
import { ON_DISK } from '../../../src/config/files-on-disk.js';
import { caseKeys } from '../../../src/config/sweep-section.js';
import { buildGrid, planCells } from '../../../src/run/sweep/plan-sweep.js';
import { BASE, folder } from '../../config/experiment-files.js';

const DIR = folder();

async function plan(sweep: string, overrides: readonly string[] = []) {
  const source = parseExperimentSource(`${BASE}sweep:\n${sweep}`, join(DIR, 'exp.yaml'));
  const experiment = await buildExperiment(source, { overrides, host: ON_DISK });
  const { cases, vary, bound } = experiment.sweep!;
  const grid = buildGrid([...caseKeys(cases), ...vary], [1]);
  const placeOf = () => ({});
  return planCells(grid, {
    source,
    cases,
    overrides,
    bound,
    version: '1',
    metrics: [],
    thresholds: [],
    placeOf,
  });
}

test('a bound is planned for each cell where the sweep asks for it, the same for all policies', async () => {
  const without = await plan('  vary: { slo: [10ms, 20ms] }\n');
  expect(without.some((cell) => 'bound' in cell)).toBe(false);
  const planned = await plan(
    '  vary: { slo: [10ms, 20ms], policy.kind: [clockwork, fifo] }\n  bound: true\n',
  );
  const keys = planned.map((cell) => (cell.task === null ? null : cell.bound?.key));
  expect([keys[0], keys[2]]).toEqual([keys[1], keys[3]]);
  expect(keys[0]).not.toBe(keys[2]);
});

test.each([
  ['{ cluster.gpsu: 2 }', /exp\.yaml:10: sweep\.cases\.setting\.two\.cluster\.gpsu: unknown key "gpsu"/],
  [
    '{ cluster: { gpus: 1, pags: 3 } }',
    /exp\.yaml:10: sweep\.cases\.setting\.two\.cluster\.pags: unknown key "pags": did you mean "pages"\?$/,
  ],
])('a mistake in a case is reported where it is: %s', async (two, message) => {
  const sweep = `  cases:\n    setting:\n      two: ${two}\n      one: {}\n`;
  await expect(plan(sweep)).rejects.toThrow(message);
});

test('a combination of cases that cannot be fails alone', async () => {
  const planned = await plan(
    '  cases: { size: { small: { cluster.pages: 6 }, large: {} }, slo-of-run: { short: { slo: 1ms } } }\n',
  );
  expect(planned.map(({ task }) => task !== null)).toEqual([false, true]);
});
