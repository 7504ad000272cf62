import { describe, expect, it } from 'vitest';
import type { Table } from '../../../src/report/document.js';
import { fleetAnswer, fleetSections } from '../../../src/report/fleet-text.js';
import { summaryText } from '../../../src/report/index.js';
import { sweptFleets } from '../../../src/report/study/fleets.js';
import { fleetsFixture, sweepFixture } from '../fixtures.js';

const FLEETS = {
  '6 GPUs': { gpus: 6, attainment: 0.97 },
  '8 GPUs': { gpus: 8, attainment: 1 },
  '9 GPUs': { gpus: 9, attainment: 1 },
  reactive: { scaler: 'reactive', gpus: 5, attainment: 0.985 },
  predictive: { scaler: 'predictive', gpus: 6, attainment: 0.992 },
  clairvoyant: { scaler: 'clairvoyant', gpus: 4, attainment: 0.999 },
};

describe('a sweep over fleets', () => {
  it('ranks those that reach the target by GPU-hours, the others behind them by attainment', () => {
    const ranked = sweptFleets(fleetsFixture(FLEETS));
    expect(
      ranked.map(({ name, gpuHours, meets, onFrontier }) => [name, gpuHours, meets, onFrontier]),
    ).toEqual([
      ['clairvoyant', 4, true, false],
      ['predictive', 6, true, true],
      ['8 GPUs', 8, true, true],
      ['9 GPUs', 9, true, false],
      ['reactive', 5, false, true],
      ['6 GPUs', 6, false, false],
    ]);
  });

  it('says which real fleet needs the fewest, against the best fixed one and against hindsight', () => {
    expect(fleetAnswer(sweptFleets(fleetsFixture(FLEETS)))).toEqual({
      title: 'Fewest GPU-hours at 99 % in time: predictive, 6',
      reason:
        '25.0 % fewer than the best fixed fleet, 8 GPUs, and 1.5 times those of the plan that knows all arrivals',
    });
  });

  it('says so if none reaches the target', () => {
    const { reactive, clairvoyant } = FLEETS;
    expect(fleetAnswer(sweptFleets(fleetsFixture({ reactive, clairvoyant })))?.title).toBe(
      'No fleet answers 99 % of the requests in time',
    );
  });

  it('has a table with the cost of the run on the terminal', () => {
    const results = fleetsFixture(FLEETS);
    const [{ blocks } = { blocks: [] }] = fleetSections(sweptFleets(results));
    const { table } = blocks[0] as { readonly table: Table };
    const rows = table.rows.map((row) => row.map(({ text }) => text));
    expect(rows[0]).toEqual(['clairvoyant', '4', '1.00', '99.9 %', 'yes', 'hindsight']);
    expect(rows[1]).toEqual(['predictive', '6', '1.50', '99.2 %', 'yes', 'yes']);
    expect(summaryText(results)).toContain('Fewest GPU-hours');
  });

  it('is ranked by nothing of the kind where no scaler was at work', () => {
    const { '8 GPUs': fixed } = FLEETS;
    for (const results of [fleetsFixture({ fixed }), sweepFixture()]) {
      const fleets = sweptFleets(results);
      expect([fleets, fleetSections(fleets), fleetAnswer(fleets)]).toEqual([[], [], null]);
    }
  });
});
