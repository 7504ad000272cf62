import { describe, expect, it } from 'vitest';
import { sliceSweep } from '../../src/report/slices.js';
import { cellFixture, gridFixture, sweepFixture } from './fixtures.js';

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

  it('prefers any number to names for x', () => {
    const [slice] = sliceSweep(
      gridFixture({
        vary: [
          { key: 'policy.kind', values: ['clockwork', 'fifo'] },
          { key: 'workload.rate', values: ['1/s', '2/s'] },
        ],
        run,
      }),
    );
    expect([slice?.x.key, slice?.series?.key]).toEqual(['workload.rate', 'policy.kind']);
  });

  it('falls back to names, and to nothing', () => {
    const [slice] = sliceSweep(
      gridFixture({ vary: [{ key: 'policy.kind', values: ['clockwork', 'fifo'] }], run }),
    );
    expect(slice?.x.kind).toBe('category');
    expect(sliceSweep(gridFixture({ vary: [], run }))).toEqual([]);
  });
});
