import { describe, expect, it } from 'vitest';
import { Sessions } from '../../../src/policies/nexus/sessions.js';

const MS = 1_000_000;
const SECOND = 1000 * MS;

describe('Sessions', () => {
  it('are models with SLOs; those that differ by less than a fifth may be one, for the tightest', () => {
    const sessions = new Sessions(2);
    const first = sessions.of(0, 100 * MS);
    expect(sessions.of(0, 100 * MS)).toBe(first);
    expect(sessions.of(0, 95 * MS)).toBe(first);
    expect(first.sloNs).toBe(95 * MS);
    expect(sessions.of(0, 200 * MS)).not.toBe(first);
    expect(sessions.of(1, 100 * MS)).not.toBe(first);
    expect(sessions.ofModel(0)).toHaveLength(2);
  });

  it('are few whatever SLOs come', () => {
    const sessions = new Sessions(1);
    for (let sloNs = 1; sloNs <= 100 * MS; sloNs += 997) sessions.of(0, sloNs);
    expect(sessions.all.length).toBeLessThan(110);
  });

  it('have a rate that follows that of each epoch by half', () => {
    const sessions = new Sessions(1);
    const session = sessions.of(0, 100 * MS);
    const rates = [100, 200, 200].map((arrivals) => {
      session.arrivals = arrivals;
      const [load] = sessions.loads(SECOND);
      return load.ratePerNs * 1e9;
    });
    expect(rates).toEqual([100, 150, 175]);
  });

  it('that have fallen silent are not planned for', () => {
    const sessions = new Sessions(1);
    sessions.of(0, 100 * MS).arrivals = 1;
    const planned = Array.from({ length: 6 }, () => sessions.loads(SECOND).length);
    // 1, 0.5, 0.25, 0.125 and 0.0625 requests an epoch.
    expect(planned).toEqual([1, 1, 1, 1, 0, 0]);
  });
});
