import { describe, expect, it } from 'vitest';
import { comparePolicies } from '../../../src/report/policies/compare.js';
import { mergeSweeps } from '../../../src/report/policies/merge.js';
import { seriesOf } from '../../../src/report/policies/series.js';
import { policySweep } from './fixtures.js';

const KINDS = { key: 'policy.kind', values: ['clockwork', 'fifo'] };
const SLO = { key: 'slo', values: ['10ms', '100ms'] };

/** Runs of clockwork differ with schedule_ahead, those of fifo do not. */
function aheadSweep(values: readonly string[]) {
  const best: Readonly<Record<string, string>> = { '10ms': '2ms', '100ms': '5ms' };
  return policySweep({
    vary: [KINDS, SLO, { key: 'policy.scheduleAhead', values }],
    seeds: [1, 2],
    run: (run, seed) => {
      const { 'policy.kind': kind, 'policy.scheduleAhead': ahead, slo } = run;
      if (kind === 'fifo') return { goodputRps: 300, decisions: `fifo ${slo} ${seed}` };
      return { goodputRps: ahead === 'auto' ? 690 : ahead === best[slo!] ? 700 : 500 };
    },
  });
}

const namesOf = (results: ReturnType<typeof aheadSweep>) =>
  seriesOf(mergeSweeps([{ name: 'sweep', results }]).runs).map(({ name }) => name);

describe('series', () => {
  it('tune numbers, and give words a series of their own', () => {
    expect(namesOf(aheadSweep(['2ms', '5ms', 'auto']))).toEqual([
      'clockwork (best fixed)',
      'clockwork (auto)',
      'fifo',
    ]);
  });

  it('are called by the option where it has no words', () => {
    expect(namesOf(aheadSweep(['2ms', '5ms']))).toEqual(['clockwork (best schedule_ahead)', 'fifo']);
  });

  it('are called by the value where there is one number', () => {
    expect(namesOf(aheadSweep(['5ms', 'auto']))).toEqual(['clockwork (5 ms)', 'clockwork (auto)', 'fifo']);
  });

  it('take the best value of each cell, and count runs that did not differ once', () => {
    const { cells } = comparePolicies([{ name: 'sweep', results: aheadSweep(['2ms', '5ms', 'auto']) }]);
    expect(cells.map(({ results }) => results.map((result) => result!.goodputRps?.mean))).toEqual([
      [700, 690, 300],
      [700, 690, 300],
    ]);
    expect(cells.map(({ results }) => results[0]!.tuned)).toEqual([
      { 'policy.scheduleAhead': '2ms' },
      { 'policy.scheduleAhead': '5ms' },
    ]);
    expect(cells[0]!.results.map((result) => result!.share.n)).toEqual([2, 2, 2]);
  });
});

describe('merged sweeps', () => {
  const sweep = (kinds: readonly string[], goodputRps: number, overrides: readonly string[] = []) => ({
    ...policySweep({
      vary: [{ key: 'policy.kind', values: kinds }, SLO],
      seeds: [1],
      run: () => ({ goodputRps }),
    }),
    overrides,
  });

  it('are one comparison', () => {
    const { policies, warnings } = comparePolicies([
      { name: 'a', results: sweep(['clockwork', 'fifo'], 500) },
      { name: 'b', results: sweep(['escapement'], 600, ['policy.maxBatch=4']) },
    ]);
    expect(policies.map(({ name }) => name)).toEqual(['escapement', 'clockwork', 'fifo']);
    expect(warnings).toEqual([]);
  });

  it('let the last run count, and say so', () => {
    const { cells, warnings } = comparePolicies([
      { name: 'a', results: sweep(['clockwork', 'fifo'], 500) },
      { name: 'b', results: sweep(['fifo'], 600) },
    ]);
    expect(cells[0]!.results.map((result) => result!.goodputRps?.mean)).toEqual([500, 600]);
    expect(warnings).toEqual(['b: replaces runs of a that made other decisions (2 runs)']);
  });

  it('tell where they answer different questions', () => {
    const a = { name: 'a', results: sweep(['clockwork'], 500) };
    const b = { name: 'b', results: sweep(['fifo'], 500, ['cluster.gpus=2']) };
    expect(comparePolicies([a, b]).warnings).toEqual([
      'b: its overrides are cluster.gpus=2, those of a are none',
    ]);
    const other = { ...b.results, vary: [KINDS, { key: 'workload.rate', values: ['1/s'] }] };
    expect(() => comparePolicies([a, { name: 'b', results: other }])).toThrow(
      'b: varies workload.rate in addition to the policy, a varies slo; compare sweeps that vary the same keys',
    );
  });
});
