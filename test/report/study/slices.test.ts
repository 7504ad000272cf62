import { describe, expect, it } from 'vitest';
import { nameAlongX, placeAlongX, sliceSweep } from '../../../src/report/study/slices.js';
import { cellFixture, gridFixture } from '../fixtures.js';
import { policiesAt } from '../policies-sweep.js';

const run = () => cellFixture({ sloMs: 100, goodputRps: 100 });

describe('sliceSweep', () => {
  it('prefers schedule_ahead to other numbers for x, in whatever order they are varied', () => {
    const [slice] = sliceSweep(
      gridFixture({
        vary: [
          { key: 'policy.maxBatch', values: ['4', '8'] },
          { key: 'policy.scheduleAhead', values: ['1ms', '2ms'] },
        ],
        run,
      }),
    );
    expect(slice?.x.key).toBe('policy.scheduleAhead');
  });

  it('has words, and choices that do not have the key along x, next to the numbers', () => {
    const results = policiesAt(['10ms', '50ms'], [1], () => 100);
    const slices = sliceSweep(results);
    expect(slices.map(({ fixed }) => fixed)).toEqual([
      { 'policy.kind': 'clockwork' },
      { 'policy.kind': 'escapement' },
    ]);
    for (const slice of slices) {
      expect([slice.x.key, slice.x.kind]).toEqual(['policy.scheduleAhead', 'number']);
      const half = [
        ['5 ms', 5],
        ['10 ms', 10],
        ['auto', null],
      ];
      expect(slice.points.map((point) => [nameAlongX(slice, point), placeAlongX(slice, point)])).toEqual([
        ...[...half, ...half],
        ...[
          ['edf', null],
          ['edf', null],
        ],
      ]);
    }
  });
});
