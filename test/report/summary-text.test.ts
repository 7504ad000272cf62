import { describe, expect, it } from 'vitest';
import { summaryText } from '../../src/report/index.js';
import { cellFixture, gridFixture, runFixture, sweepFixture } from './fixtures.js';

const { summary } = runFixture({ sloMs: 10, goodputRps: 362.4, seed: 7 });

describe('summaryText', () => {
  it('puts the seed of a run first and its digest last', () => {
    const lines = summaryText(summary).trimEnd().split('\n');
    expect(lines[0]).toBe('seed      7');
    expect(lines.at(-1)).toBe(`digest    ${summary.digest}`);
  });

  it('shows default, best and gain of each SLO, and what to deploy', () => {
    const text = summaryText(sweepFixture({ seeds: [1] }));
    expect(text).toMatch(/^ 10 ms +10 ms +52\.\d +5 ms +36\d\.?\d* +60\.\d % +6\.9×$/m);
    expect(text).toContain('Deploy schedule_ahead = ');
  });

  it('names failed cells with their reason', () => {
    const text = summaryText(
      sweepFixture({ seeds: [1], failed: ['policy.scheduleAhead=5ms slo=10ms seed=1'] }),
    );
    expect(text.replaceAll('\n', ' ')).toContain(
      'slo=10ms seed=1: E_MODEL_TOO_LARGE model bert needs 90 pages',
    );
  });

  it.each([
    ['a run', summary],
    ['a sweep', sweepFixture()],
    ['three keys', sweepFixture({ seeds: [1], policies: ['clockwork', 'fifo'] })],
    [
      'long names',
      gridFixture({
        vary: [{ key: 'workload.functions.assignment', values: ['a'.repeat(60), 'b'.repeat(60)] }],
        run: () => cellFixture({ sloMs: 10, goodputRps: 10 }),
      }),
    ],
  ])('is plain text of at most 80 columns for %s', (_, result) => {
    const text = summaryText(result);
    expect(text).not.toContain('\u001b');
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });
});
