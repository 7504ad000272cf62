import { describe, expect, it } from 'vitest';
import { nameAlongX, placeAlongX, sliceSweep } from '../../../src/report/study/slices.js';
import { cellFixture, gridFixture, sweepFixture } from '../fixtures.js';
import { policiesAt } from '../policies-sweep.js';

const run = () => cellFixture({ sloMs: 100, goodputRps: 100 });

describe('sliceSweep', () => {
  it('puts schedule_ahead on x and the SLO into series, ascending', () => {
    const [slice] = sliceSweep(sweepFixture({ slosMs: [100, 10], aheadMs: [20, 5] }));
    expect(slice?.x.title).toBe('schedule_ahead (ms)');
    expect(slice?.series?.values.map(({ label }) => label)).toEqual(['10 ms', '100 ms']);
    expect(slice?.points.map(({ values }) => Object.values(values).join(' '))).toEqual([
      '5ms 10ms',
      '20ms 10ms',
      '5ms 100ms',
      '20ms 100ms',
    ]);
  });

  it('makes one slice a value of a third key', () => {
    const slices = sliceSweep(sweepFixture({ policies: ['clockwork', 'fifo'] }));
    expect(slices.map(({ fixed }) => fixed)).toEqual([
      { 'policy.kind': 'clockwork' },
      { 'policy.kind': 'fifo' },
    ]);
  });

  it('says what it has in common, keys with a single value included', () => {
    const vary = [
      { key: 'slo', values: ['10ms', '20ms'] },
      { key: 'policy.scheduleAhead', values: ['1ms', '2ms'] },
      { key: 'policy.kind', values: ['edf', 'fifo'] },
      { key: 'admission', values: ['none'] },
    ];
    const slices = sliceSweep(gridFixture({ vary, run }));
    expect(slices.map(({ common }) => common)).toEqual([
      'policy edf, admission none',
      'policy fifo, admission none',
    ]);
  });

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
