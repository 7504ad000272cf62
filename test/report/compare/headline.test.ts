import { describe, expect, it } from 'vitest';
import type { RunResult } from '../../../src/record/results.js';
import { compareRuns } from '../../../src/report/compare/compare.js';
import { groupFixture, modelFixture, runFixture, withParts } from '../fixtures.js';

const BASE = runFixture({ sloMs: 50, goodputRps: 480 });

interface Figures {
  readonly attainment?: number;
  readonly goodputRps?: number;
  readonly p99?: number;
  readonly interactive?: number;
  readonly models?: Readonly<Record<string, readonly [ok: number, offered: number]>>;
}

function run(figures: Figures): RunResult {
  const { attainment = 0.9, goodputRps = 500, p99 = 40, interactive } = figures;
  const model = Object.entries(figures.models ?? {}).map(([name, [ok, offered]], id) =>
    modelFixture(id, name, offered, ok),
  );
  const group = [groupFixture('batch', 500, 400, 1), groupFixture('interactive', 50, 200, interactive ?? 1)];
  const { summary } = withParts(BASE, { model, ...(interactive === undefined ? {} : { group }) });
  return {
    ...BASE,
    summary: {
      ...summary,
      attainment,
      goodputRps,
      offeredLatencyMs: { ...summary.offeredLatencyMs, p99 },
    },
  };
}

const compare = (first: Figures, other: Figures) =>
  compareRuns([
    { name: 'A', run: run(first) },
    { name: 'B', run: run(other) },
  ]);

describe('headlines', () => {
  it('say how attainment changed, whatever goodput and p99 gained', () => {
    const { headlines } = compare(
      { attainment: 0.841, goodputRps: 1000, p99: 100 },
      { attainment: 0.726, goodputRps: 1003, p99: 62.9 },
    );
    expect(headlines[0]!.text).toBe('B against A: attainment 84.1 % → 72.6 % (-11.5 pp).');
  });

  it('give the interval of the change', () => {
    const sliced = (share: number, ok: readonly number[]) => ({
      ...run({ attainment: share, interactive: share }),
      slices: slicesOf(ok),
    });
    const { headlines, figures } = compareRuns([
      { name: 'A', run: sliced(0.9, Array(12).fill(90)) },
      { name: 'B', run: sliced(0.5, [10, 30, 80, 55, 20, 90, 60, 35, 75, 45, 40, 60]) },
    ]);
    const { margins } = figures.find(({ name }) => name === 'group.interactive.attainment')!;
    expect(margins[1]).toBeGreaterThan(0);
    expect(headlines[0]!.text).toMatch(/attainment 90\.0 % → 50\.0 % \(-40\.0 pp ± [\d.]+\)\.$/);
  });
});

it('models that lost most, and how many lost much, are among the figures, none with too few requests', () => {
  const { figures } = compare(
    { models: { low: [10, 100], fell: [100, 100], slipped: [100, 100], rare: [5, 5] } },
    { models: { low: [9, 100], fell: [20, 100], slipped: [89, 100], rare: [0, 5] } },
  );
  const valuesOf = (wanted: string) => figures.find(({ name }) => name === wanted)?.values;
  expect(valuesOf('model.fell.attainment')).toEqual([1, 0.2]);
  expect(valuesOf('modelsHurt')).toEqual([0, 2]);
});

/** Slices of a second with 100 requests each; `ok`: those answered in time. */
function slicesOf(ok: readonly number[]): NonNullable<RunResult['slices']> {
  const section = { group: 'interactive', class: null, tenant: null, weight: 1 };
  return {
    oneSample: true,
    seconds: ok.map(() => 1),
    sections: [{ ...section, offered: ok.map(() => 100), ok }],
  };
}
