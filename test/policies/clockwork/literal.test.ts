import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { run } from '../../sim/fixtures.js';
import { optionsOf, randomRun } from '../random-run.js';
import { LiteralClockwork } from './literal.js';

describe('clockwork', () => {
  it('decides, action for action, what the published rules say when followed to the letter', async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, async (drawn) => {
        const fast = await run(optionsOf(drawn));
        const { scheduleAhead, latestDelta, maxBatch, maxExec } = drawn.options;
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
