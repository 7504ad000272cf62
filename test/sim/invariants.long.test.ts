import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OUTCOME_ERROR, OUTCOME_LATE, OUTCOME_OK } from '../../src/core/request.js';
import { type Run, run } from './fixtures.js';
import { INVARIANTS, type SeenRun } from './invariants.js';
import { optionsOf, type RandomRun, randomRun } from './random-run.js';

function holdsFor(check: (result: Run, drawn: RandomRun) => void, numRuns = 40): Promise<void> {
  return fc.assert(
    fc.asyncProperty(randomRun, async (drawn) =>
      check(await run({ ...optionsOf(drawn), checks: true }), drawn),
    ),
    { numRuns },
  );
}

interface Faults {
  readonly noise?: { exec: number; stragglers: number; load: number };
  readonly gpuClock?: unknown[];
  readonly changes?: unknown[];
  readonly overheadNs?: number;
}

function seen({ offered, answers, actions }: Run, { models, gpus, kinds, faults }: RandomRun): SeenRun {
  const { noise, gpuClock = [], changes = [], overheadNs = 0 }: Faults = faults;
  const isSteady = changes.length === 0;
  return {
    ...{ models, gpus, kinds, oneLane: false, overheadNs, offered, answers, actions },
    exactExec:
      isSteady && gpuClock.length === 0 && (noise?.exec ?? 0) === 0 && (noise?.stragglers ?? 0) === 0,
    exactLoad: isSteady && (noise?.load ?? 0) === 0,
  };
}

describe('in every simulated run, whatever the cluster, the policy and the faults', () => {
  it.each(Object.entries(INVARIANTS))('%s', async (_, invariant) => {
    await holdsFor((result, drawn) => {
      expect(invariant(seen(result, drawn))).toEqual([]);
    });
  });

  it('no request is left', async () => {
    await holdsFor(({ simulator }) => {
      expect(simulator.controller.requests.size).toBe(0);
    });
  });

  it('fifo serves everything: nothing times out and nothing is refused', async () => {
    await holdsFor(({ answers }, { policy }) => {
      if (policy.policy !== 'fifo') return;
      for (const { outcome } of answers) expect([OUTCOME_OK, OUTCOME_LATE, OUTCOME_ERROR]).toContain(outcome);
    });
  });

  it('the same run again decides the same', async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, async (drawn) => {
        const [first, second] = [await run(optionsOf(drawn)), await run(optionsOf(drawn))];
        expect(second.digest).toBe(first.digest);
        expect(second.actions).toEqual(first.actions);
        expect(second.answers).toEqual(first.answers);
      }),
      { numRuns: 30 },
    );
  });

  it('checking invariants on the way changes nothing', async () => {
    await holdsFor(async (checked, drawn) => {
      expect((await run(optionsOf(drawn))).digest).toBe(checked.digest);
    }, 20);
  });
});
