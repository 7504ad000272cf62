import { describe, expect, it } from 'vitest';
import { CASES, FAILED, SWEEP, THRESHOLDS } from './fixtures.js';

describe('thresholds of a sweep', () => {
  it('are held against each cell; one that failed meets none', () => {
    expect(CASES).toHaveLength(3 * SWEEP.cells.length);
    expect(CASES.filter(({ run }) => run === FAILED).map(({ ok }) => ok)).toEqual([false, false, false]);
    const [goodput, executed] = THRESHOLDS.map(({ text }) =>
      CASES.filter(({ threshold }) => threshold === text),
    );
    expect(goodput?.filter(({ ok }) => !ok).map(({ run }) => run)).toEqual([FAILED]);
    expect(executed?.find(({ run }) => run.includes('slo=500ms'))).toMatchObject({ ok: false });
    expect(executed?.find(({ run }) => run.includes('slo=10ms'))).toMatchObject({ ok: true });
  });
});
