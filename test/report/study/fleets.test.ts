import { describe, expect, it } from 'vitest';
import { sweepCharts } from '../../../src/report/charts/chart-sets.js';
import { fleetRows, fleetVerdict } from '../../../src/report/fleet-text.js';
import { sweptFleets } from '../../../src/report/study/fleets.js';
import { sweepText } from '../../../src/report/terminal/sweep-text.js';
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
    expect(fleetVerdict(sweptFleets(fleetsFixture(FLEETS)))).toBe(
      'Fewest GPU-hours at 99 % in time: predictive, 6: 25.0 % fewer than the best fixed fleet, 8 GPUs, and 1.5 times those of the plan that knows all arrivals.',
    );
  });

  it('says so if none reaches the target', () => {
    const { reactive, clairvoyant } = FLEETS;
    expect(fleetVerdict(sweptFleets(fleetsFixture({ reactive, clairvoyant })))).toBe(
      'No fleet answers 99 % of the requests in time.',
    );
  });

  it('has a table with the cost of the run on the terminal, and a chart', () => {
    const results = fleetsFixture(FLEETS);
    const rows = fleetRows(sweptFleets(results));
    expect(rows[1]).toEqual(['clairvoyant', '4', '1.00', '99.9 %', 'yes', 'hindsight']);
    expect(rows[2]).toEqual(['predictive', '6', '1.50', '99.2 %', 'yes', 'yes']);
    expect(sweepText(results)).toContain('Fewest GPU-hours');
    expect(sweepCharts(results)[0]?.name).toBe('gpu-hours');
    expect(sweepCharts(results).map(({ name }) => name)).toContain('gpu-hours');
  });

  it('is ranked by nothing of the kind where no scaler was at work', () => {
    const { '8 GPUs': fixed } = FLEETS;
    for (const results of [fleetsFixture({ fixed }), sweepFixture()]) {
      const fleets = sweptFleets(results);
      expect([fleets, fleetRows(fleets), fleetVerdict(fleets)]).toEqual([[], [], '']);
      expect(sweepCharts(results).map(({ name }) => name)).not.toContain('gpu-hours');
    }
  });
});
