import { describe, expect, it } from 'vitest';
import { summaryText } from '../../src/report/index.js';
import {
  cellFixture,
  gridFixture,
  groupedFixture,
  groupFixture,
  runFixture,
  sweepFixture,
} from './fixtures.js';

const run = runFixture({ sloMs: 10, goodputRps: 362.4, seed: 7 });
const grouped = {
  ...run,
  groups: [groupFixture('interactive', 50, 198.5, 0.291), groupFixture('batch', null, 1028, 1)],
};

describe('summaryText', () => {
  it('puts the seed of a run first and its digest last', () => {
    const lines = summaryText(run).trimEnd().split('\n');
    expect(lines[0]).toBe('seed      7');
    expect(lines.at(-1)).toBe(`digest    ${run.summary.digest}`);
  });

  it('shows default, best and gain of each SLO, and what to deploy', () => {
    const text = summaryText(sweepFixture({ seeds: [1] }));
    expect(text).toMatch(/^ 10 ms +10 ms +52\.\d +5 ms +36\d\.?\d* +60\.\d % +6\.9×$/m);
    expect(text).toContain('Deploy schedule_ahead = ');
  });

  it('shows who was served in a run', () => {
    expect(summaryText(grouped)).toMatch(
      /^groups +interactive: 57\.8\/s \(29\.1 %\) in 50 ms, p50 25\.0 ms, p99 80\.0 ms\n {10}batch: 1,028\/s \(100 %\) in time/m,
    );
  });

  it('shows who is served under the best choice and under the poorest where the default is best', () => {
    const text = summaryText(groupedFixture());
    expect(text).toMatch(/^concurrency +poorest +interactive +batch +best +interactive +batch$/m);
    expect(text).toMatch(/^ +16 +fifo +29\.0 % +100 % +clockwork +99\.8 % +100 %$/m);
    expect(text).toContain('Keep policy = clockwork');
    expect(text.replaceAll('\n', ' ')).toContain(
      'fifo answers 29.0 % of interactive, 100 % of batch in time.',
    );
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
    ['a run', run],
    ['a run with groups', grouped],
    ['a sweep', sweepFixture()],
    ['a sweep with groups', groupedFixture()],
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
