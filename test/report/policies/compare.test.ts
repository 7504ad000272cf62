import { describe, expect, it } from 'vitest';
import { policiesText } from '../../../src/report/index.js';
import { comparePolicies } from '../../../src/report/policies/compare.js';
import { matrixFixture, policySweep, type RunFigures } from './fixtures.js';

const SLO = { key: 'slo', values: ['25ms', '100ms'] };

function comparisonOf(
  kinds: readonly string[],
  run: (kind: string, values: Readonly<Record<string, string>>, seed: number) => RunFigures,
  seeds: readonly number[] = [1, 2, 3],
) {
  const vary = [{ key: 'policy.kind', values: kinds }, SLO];
  const results = policySweep({
    vary,
    seeds,
    run: (values, seed) => run(values['policy.kind']!, values, seed),
  });
  return comparePolicies({ name: 'sweep', results });
}

describe('a comparison of policies', () => {
  const comparison = comparePolicies({ name: 'matrix', results: matrixFixture() });

  it('takes means over cells, with an interval over seeds', () => {
    const [ours, clockwork] = comparison.policies;
    expect(clockwork!.share.mean).toBeCloseTo(0.92);
    expect(clockwork!.share).toMatchObject({ n: 3 });
    expect(clockwork!.share.high - clockwork!.share.mean).toBeCloseTo((4.303 * 0.01) / Math.sqrt(3));
    expect(ours!.share.mean).toBeCloseTo((7 * 0.97 + 0.87) / 8);
    expect(ours!.worst.share).toBeCloseTo(0.87);
    expect(ours!.worst.cell).toBe('one GPU · load 1.5 · SLO 25 ms');
  });

  it('counts LOADs, and models that are left behind', () => {
    const [ours, , fifo] = comparison.policies;
    expect(ours!.loadsPerS).toBe(0.1);
    expect(fifo!.worstModel).toBeCloseTo((0.1 / (0.8 * 0.51) + 0.1 / (0.8 * 0.52) + 0.1 / (0.8 * 0.53)) / 3);
  });

  it('has a row per policy and one per cell', () => {
    const text = policiesText(comparison);
    expect(text).toMatch(/^escapement +95\.7 ± \d\.\d +87\.0 +1\.13 +7 +0\.1 /m);
    expect(text).toMatch(/^one GPU +1\.5 +25 ms +[\d,.]+ +87\.0 ± \d\.\d +92\.0 ± \d\.\d /m);
  });
});

it('is as sure of a share as of the requests answered in time, however many came', () => {
  const results = policySweep({
    vary: [{ key: 'policy.kind', values: ['clockwork', 'fifo'] }],
    seeds: [1],
    run: () => ({ goodputRps: 500, offeredRps: 500, boundRps: 500 }),
  });
  const offered = [1, 9, 2, 30, 4, 50, 6, 70, 8, 90].map((count) => count * 100);
  const section = { group: 'all', class: null, tenant: null, weight: 1 };
  const slicedTo = (ok: number[]) => {
    const slices = {
      oneSample: true,
      seconds: offered.map(() => 1),
      sections: [{ ...section, offered, ok }],
    };
    const cells = results.cells.map((cell) =>
      cell.status === 'done' ? { ...cell, result: { ...cell.result, slices } } : cell,
    );
    return comparePolicies({ name: 'sweep', results: { ...results, cells } }).cells[0]!.results[0]!.share;
  };
  expect(slicedTo(offered)).toMatchObject({ low: 1, high: 1 });
  expect(slicedTo(offered.map((count, i) => (i % 3 === 0 ? count / 2 : count))).low).toBeLessThan(0.99);
});

describe('the bound', () => {
  it('is doubted where a policy passes it', () => {
    const { warnings } = comparisonOf(['clockwork', 'fifo'], (kind) => ({
      goodputRps: kind === 'fifo' ? 501 : 400,
      boundRps: 500,
    }));
    expect(warnings).toEqual([
      'goodput exceeds the bound in 2 cases, first by fifo at SLO 25 ms: with varying execution times (cluster.noise) that can be luck, otherwise it is a bug',
    ]);
  });
});

describe('ranks', () => {
  const ranks = (...args: Parameters<typeof comparisonOf>) => comparisonOf(...args).cells[0]!.ranking.ranks;

  it('go by differences of the same seed, however much seeds differ', () => {
    const run = (kind: string, _: unknown, seed: number) => ({
      goodputRps: 500 + 100 * seed + (kind === 'fifo' ? 0 : 10),
    });
    expect(ranks(['fifo', 'clockwork'], run)).toEqual([2, 1]);
  });

  it('are shared where the difference is in doubt', () => {
    const run = (kind: string, _: unknown, seed: number) => ({
      goodputRps: kind === 'fifo' ? 500 : 500 + [90, -70, 30][seed - 1]!,
    });
    expect(ranks(['fifo', 'clockwork'], run)).toEqual([1, 1]);
  });
});

describe('what cannot be compared', () => {
  it('leaves cells that some policy did not finish out of the figures over all cells', () => {
    const vary = [{ key: 'policy.kind', values: ['clockwork', 'fifo'] }, SLO];
    const failed = ['policy.kind=fifo slo=25ms seed=1', 'policy.kind=fifo slo=25ms seed=2'];
    const run = ({ slo }: Readonly<Record<string, string>>) => ({ goodputRps: slo === '25ms' ? 100 : 500 });
    const results = policySweep({ vary, seeds: [1, 2], failed, run });
    const comparison = comparePolicies({ name: 'sweep', results });
    expect([comparison.cells.length, comparison.completeCells, comparison.failed.length]).toEqual([2, 1, 2]);
    expect(comparison.policies[0]!.share.mean).toBe(0.5);
    expect(comparison.cells[0]!.results[1]).toBeNull();
    expect(policiesText(comparison)).toMatch(/^Left out: 2 runs that failed, the first with E_\w+: /m);
  });
});
