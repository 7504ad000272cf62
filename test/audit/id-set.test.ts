import { describe, expect, it } from 'vitest';
import { IdSet } from '../../src/audit/id-set.js';

describe('IdSet', () => {
  it('knows what is there and what is missing', () => {
    const ids = new IdSet();
    expect([ids.firstMissing, ids.missing]).toEqual([-1, 0]);
    for (let id = 0; id < 20_000; id++) if (id !== 12_345) expect(ids.add(id)).toBe(true);
    expect(ids.add(777)).toBe(false);
    expect([ids.firstMissing, ids.missing]).toEqual([12_345, 1]);
    expect(ids.add(12_345)).toBe(true);
    expect([ids.firstMissing, ids.missing]).toEqual([-1, 0]);
  });
});
