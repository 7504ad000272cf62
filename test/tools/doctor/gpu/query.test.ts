import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gpuChecks } from '../../../../src/tools/doctor/gpu/gpu-checks.js';
import { firstLine, type Run, type RunOutcome } from '../../../../src/tools/doctor/gpu/nvidia-smi.js';
import { GENERATIONS, recorded } from './recorded.js';

describe('garbage', () => {
  const junk = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 400 }),
    fc.string({
      unit: fc.constantFrom(',', ' ', '\n', '\r', '"', '[', ']', '0', 'x', ':', 'GPU'),
      maxLength: 200,
    }),
    fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes).toString('utf8')),
  );

  it('in any answer, or in any place of one, gives checks and no exception', async () => {
    const outcome: fc.Arbitrary<RunOutcome> = fc.oneof(
      junk.map((stdout): RunOutcome => ({ kind: 'ok', stdout })),
      junk.map((text): RunOutcome => ({ kind: 'failed', status: 2, message: firstLine(text) })),
      fc.constant<RunOutcome>({ kind: 'timed-out', limitMs: 5000 }),
    );
    /** Text put into a recorded answer, over some of what was there. */
    const damage = fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), cut: fc.nat(60), text: junk });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...GENERATIONS),
        fc.array(fc.option(fc.oneof(outcome, damage)), { minLength: 3, maxLength: 3 }),
        async (generation, harms) => {
          const { run } = recorded(generation);
          let calls = 0;
          const harmed: Run = async (args) => {
            const harm = harms[calls++ % harms.length] ?? null;
            const answer = await run(args);
            if (harm === null) return answer;
            if ('kind' in harm) return harm;
            if (answer.kind !== 'ok') return answer;
            const at = Math.floor(harm.at * answer.stdout.length);
            const stdout = answer.stdout.slice(0, at) + harm.text + answer.stdout.slice(at + harm.cut);
            return { kind: 'ok', stdout };
          };
          const checks = await gpuChecks({ run: harmed, cacheBytes: 1, cudaWanted: true });
          for (const check of checks) {
            expect(check.found).not.toMatch(/\p{Cc}/u);
            expect(check.found).not.toMatch(/undefined|NaN|null/);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
