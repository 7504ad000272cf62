import { describe, expect, it, vi } from 'vitest';
import { LiteralClockwork } from '../policies/clockwork/literal.js';
import { agreement, type OracleCase, runCase } from './run-case.js';
import { hasSharedData, readActions, readRows } from './shared-data.js';

// With the estimates of the published scheduler, to the last bit, there is no difference left to allow for.
vi.mock('../../src/core/estimates.js', () => import('./single-precision.js'));

/** One case of each kind, of those with a log. */
const LOGGED = ['a_r1000_slo10_sa5', 'b_r300_slo100_sa10', 'c_r3000_slo100_sa5', 'd_g2_slo25_sa5'];

function runToTheLetter(given: OracleCase) {
  return runCase(
    given,
    (options) => (context) => new LiteralClockwork(context, { ...options, everyInstance: true }),
  );
}

describe.skipIf(!hasSharedData)('the rules to the letter against the published scheduler', () => {
  const rows = hasSharedData ? readRows().filter(({ name }) => LOGGED.includes(name)) : [];

  it.for(rows)('$name: every figure is the same, and every action', async (row) => {
    const { ok, loads, unloads, infersByBatch, actions } = await runToTheLetter(row);
    expect({ ok, loads, unloads, infersByBatch }).toEqual({
      ok: Math.round(row.goodputRps * row.durationS),
      loads: row.loads,
      unloads: row.unloads,
      infersByBatch: row.infersByBatch,
    });
    const theirs = readActions(row);
    expect(actions).toHaveLength(theirs.length);
    expect(agreement(actions, theirs).leading).toBe(theirs.length);
  });
});
