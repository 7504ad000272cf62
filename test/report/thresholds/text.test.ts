import { describe, expect, it } from 'vitest';
import { thresholdLines } from '../../../src/report/thresholds/cases.js';
import { one } from './fixtures.js';

describe('thresholds in a terminal', () => {
  it('have a line each, and one for each cell that misses it', () => {
    const cases = [
      one({ run: 'a' }),
      one({ run: 'b', ok: false, measured: '2 s' }),
      one({ run: 'c', ok: false, error: 'E: x' }),
    ];
    expect(thresholdLines([...cases, one({ run: 'a', threshold: 'ok>1' })])).toEqual([
      '✗ p99<1s: missed in 2 of 3 runs',
      '✗ p99<1s: 2 s with b',
      '✗ p99<1s: failed (E: x) with c',
      '✓ ok>1: in all 1 runs',
    ]);
    expect(thresholdLines([one({}), one({ ok: false, measured: 'never' })])).toEqual([
      '✓ p99<1s: 94 ms',
      '✗ p99<1s: never',
    ]);
  });
});
