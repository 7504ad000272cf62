import { describe, expect, it } from 'vitest';
import type { Summary } from '../../../src/record/results.js';
import { compareRuns } from '../../../src/report/compare/compare.js';
import { checkTolerances, parseTolerance } from '../../../src/report/compare/tolerance.js';
import { failure } from '../../config/failure.js';
import { runFixture } from '../fixtures.js';

const RUN = runFixture({ sloMs: 50, goodputRps: 480 });

function check(text: string, first: Partial<Summary>, other: Partial<Summary>) {
  const runs = [first, other].map((summary, i) => ({
    name: 'AB'[i] as string,
    run: { ...RUN, summary: { ...RUN.summary, ...summary } },
  }));
  const [result, ...more] = checkTolerances([parseTolerance(text)], compareRuns(runs));
  expect(more).toEqual([]);
  return result;
}

const p99 = (ms: number | null) => ({
  offeredLatencyMs: { ...RUN.summary.offeredLatencyMs, p99: ms },
});

describe('tolerances', () => {
  it.each([
    ['p99=15%', 100, 85, true],
    ['p99=15%', 100, 116, false],
    ['p99=2ms', 100, 102, true],
    ['p99=2ms', 100, 97.9, false],
    ['p99=15%', null, null, true],
    ['p99=15%', null, 100, false],
    ['p99=15%', 100, null, false],
  ])('%s of %s and %s: %s', (text, first, other, ok) => {
    expect(check(text, p99(first), p99(other))?.ok).toBe(ok);
  });

  it.each([
    ['goodputRps=5/s', { goodputRps: 100 }, { goodputRps: 94 }, false],
    ['coldStarts=10', { coldStarts: 0 }, { coldStarts: 10 }, true],
    ['coldStarts=10%', { coldStarts: 0 }, { coldStarts: 1 }, false],
    // Relative to the first run's, as of every figure.
    ['attainment=1%', { attainment: 0.5 }, { attainment: 0.508 }, false],
  ])('%s of %j and %j: %s', (text, first, other, ok) => {
    expect(check(text, first, other)?.ok).toBe(ok);
  });

  it('are not met by what was not measured, in one run or in both', () => {
    const { coldStarts: _, ...client } = RUN.summary;
    const compare = (...summaries: readonly (typeof client)[]) =>
      checkTolerances(
        [parseTolerance('coldStarts=10')],
        compareRuns(summaries.map((summary, i) => ({ name: 'AB'[i] as string, run: { ...RUN, summary } }))),
      )[0];
    const text = (who: string) => `coldStarts=10: not measured, ${who} no coldStarts`;
    expect(compare(client, client)).toMatchObject({ ok: false, text: text('A and B have') });
    expect(compare(RUN.summary, client)).toMatchObject({ ok: false, text: text('B has') });
  });

  it('say what was found', () => {
    expect(check('p99=15%', p99(40), p99(50))).toEqual({
      tolerance: 'p99=15%',
      run: 'B',
      ok: false,
      text: 'p99=15%: not met, p99 of B is 50.0 ms against 40.0 ms (+25.0 %)',
    });
  });

  it.each([
    [
      'p99',
      "--tolerance 'p99': must be FIGURE=LIMIT with a figure of the whole run, e.g. p99=15% or p99=2ms",
    ],
    ['p98=1%', /^--tolerance 'p98=1%': unknown figure p98; known figures: .*p50, .*executedP99/],
    ['p99=2', "--tolerance 'p99=2': a latency needs a unit: ns, us, ms, s, m, h"],
    ['late=2ms', "--tolerance 'late=2ms': this figure cannot have the unit ms"],
    ['toString=1%', /unknown figure toString/],
  ])('refuse %s', (text, message) => {
    const error = failure(() => parseTolerance(text));
    expect(error.code).toBe('E_USAGE');
    expect(error.message).toMatch(message);
  });
});
