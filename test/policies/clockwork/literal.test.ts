import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { run } from '../../sim/fixtures.js';
import { optionsOf, randomRun } from '../../sim/random-run.js';
import { LiteralClockwork } from './literal.js';

describe('clockwork', () => {
  it('decides, action for action, what the published rules say when followed to the letter', async () => {
    const clockworkRun = randomRun.filter(
      ({ kinds, policy: { policy, options } }) =>
        kinds.length === 1 && policy === 'clockwork' && typeof options.scheduleAhead === 'number',
    );
    await fc.assert(
      fc.asyncProperty(clockworkRun, async (drawn) => {
        const fast = await run(optionsOf(drawn));
        const { scheduleAhead, latestDelta, maxBatch, maxExec } = drawn.policy.options as Record<
          string,
          number
        >;
        const options = {
          scheduleAheadNs: scheduleAhead,
          latestDeltaNs: latestDelta,
          maxBatch,
          maxExecNs: maxExec,
          everyInstance: false,
        };
        const literal = await run({
          ...optionsOf(drawn),
          policy: (context) => new LiteralClockwork(context, options),
        });
        expect(fast.actions).toEqual(literal.actions);
        expect(fast.digest).toBe(literal.digest);
      }),
      { numRuns: 150 },
    );
  });
});
