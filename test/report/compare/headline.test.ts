import { describe, expect, it } from 'vitest';
import type { RunResult } from '../../../src/record/results.js';
import { dropWarnings, headlinesOf } from '../../../src/report/compare/headline.js';
import { groupFixture, modelFixture, runFixture, withParts } from '../fixtures.js';

const BASE = runFixture({ sloMs: 50, goodputRps: 480 });

interface Figures {
  readonly attainment?: number;
  readonly goodputRps?: number;
  /** Of executed requests. */
  readonly p99?: number;
  /** Of all offered requests; null: never. */
  readonly offeredP99?: number | null;
  readonly dropped?: number;
  readonly interactive?: number;
  readonly models?: Readonly<Record<string, readonly [ok: number, offered: number]>>;
}

function run(figures: Figures): RunResult {
  const { attainment = 0.9, goodputRps = 500, p99 = 40, offeredP99 = 40, dropped = 0, interactive } = figures;
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
      requests: { offered: 1000, ok: 900 - dropped, late: 100, timeout: dropped, rejected: 0, error: 0 },
      executedLatencyMs: { ...summary.executedLatencyMs, p99 },
      offeredLatencyMs: { ...summary.offeredLatencyMs, p99: offeredP99 },
    },
  };
}

const headline = (first: Figures, other: Figures) =>
  headlinesOf([
    { name: 'A', run: run(first) },
    { name: 'B', run: run(other) },
  ])[0]!;

describe('headlinesOf', () => {
  it('says attainment and who lost most, whatever goodput and p99 gained', () => {
    const { text } = headline(
      { attainment: 0.841, goodputRps: 1000, p99: 100, interactive: 1 },
      { attainment: 0.726, goodputRps: 1003, p99: 62.9, interactive: 0.29 },
    );
    expect(text).toMatch(
      /^B against A: SLO attainment 84\.1 → 72\.6 % \(-11\.5 points\); most hurt: interactive users, 100 → 29\.0 % \(-71\.0 points\)\.$/,
    );
  });

  it('names the model that lost most, not one with the lowest attainment, and none with too few requests', () => {
    const { text, modelHurtMost, modelsHurt } = headline(
      { models: { low: [10, 100], fell: [100, 100], slipped: [100, 100], rare: [5, 5] } },
      { models: { low: [9, 100], fell: [20, 100], slipped: [89, 100], rare: [0, 5] } },
    );
    expect(modelHurtMost).toEqual({ name: 'fell', from: 1, to: 0.2 });
    expect(modelsHurt).toBe(2);
    expect(text).toContain(
      'model that lost the most: fell, 100 → 20.0 % (-80.0 points); 2 models lost 10 points or more',
    );
  });

  it('names no group where none lost', () => {
    const { text, groupHurtMost } = headline({ interactive: 0.5 }, { interactive: 1 });
    expect(groupHurtMost).toBeNull();
    expect(text).not.toContain('most hurt');
  });

  it('does not compare models of other experiments', () => {
    const { modelHurtMost } = headline({ models: { a: [100, 100] } }, { models: { b: [0, 100] } });
    expect(modelHurtMost).toBeNull();
  });
});

describe('dropWarnings', () => {
  const warnings = (first: Figures, other: Figures) =>
    dropWarnings([
      { name: 'A', run: run(first) },
      { name: 'B', run: run(other) },
    ]);

  it('say that a percentile fell only because requests were dropped', () => {
    expect(warnings({ offeredP99: null }, { p99: 30, offeredP99: null, dropped: 115 })).toEqual([
      'B: p99 of executed requests fell only because 11.5 % more of the requests were never executed; over all offered requests it is not better',
    ]);
  });

  it('are none where nothing more was dropped, or the percentile of all requests fell as well', () => {
    expect(warnings({}, { p99: 30, offeredP99: 50 })).toEqual([]);
    expect(warnings({}, { p99: 30, offeredP99: 35, dropped: 115 })).toEqual([]);
    expect(warnings({}, { p99: 45, offeredP99: 50, dropped: 115 })).toEqual([]);
  });
});
