import { describe, expect, it } from 'vitest';
import { comparePolicies } from '../../../src/report/policies/compare.js';
import { runsOf, seriesOf } from '../../../src/report/policies/series.js';
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

const namesOf = (results: ReturnType<typeof aheadSweep>) => seriesOf(runsOf(results)).map(({ name }) => name);

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
    const { cells } = comparePolicies({ name: 'sweep', results: aheadSweep(['2ms', '5ms', 'auto']) });
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
