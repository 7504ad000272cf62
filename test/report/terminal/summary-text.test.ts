import { describe, expect, it } from 'vitest';
import { summaryText } from '../../../src/report/index.js';
import {
  cellFixture,
  gridFixture,
  groupedFixture,
  groupFixture,
  runFixture,
  sweepFixture,
} from '../fixtures.js';

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

  it('shows the GPU time of classes only to those who see GPUs', () => {
    const { requests, offeredLatencyMs, executedLatencyMs } = run.summary;
    const figures = { requests, offeredLatencyMs, executedLatencyMs, offeredRps: 50, goodputRps: 50 };
    const gold = { name: 'gold', weight: 10, share: 0.2, attainment: 1, gpuShare: 0.3, ...figures };
    const summary = { ...run.summary, classes: [gold] };
    expect(summaryText({ ...run, summary })).toMatch(/30\.0 % of GPU time \(20\.0 %\s+guaranteed\)/);
    const ofClient = { ...run.summary, classes: [{ ...gold, gpuShare: null }] };
    const text = summaryText({ ...run, summary: ofClient });
    expect(text).toMatch(/gold × 10: 50\/s \(100 %\) in time, p99/);
    expect(text).not.toContain('GPU time');
  });

  it('shows GPU time of tenants next to their shares, and says who sent nothing', () => {
    const { requests, offeredLatencyMs, executedLatencyMs } = run.summary;
    const figures = {
      offeredLatencyMs,
      executedLatencyMs,
      offeredRps: 50,
      goodputRps: 50,
      overRate: 0,
      overShare: 7,
    };
    const shop = { name: 'shop', share: 0.75, attainment: 0.8, gpuShare: 0.6, requests, ...figures };
    const idle = { ...shop, name: 'idle', share: 0.25, requests: { ...requests, offered: 0 } };
    const textOf = (tenants: readonly (typeof shop)[]) =>
      summaryText({ ...run, summary: { ...run.summary, tenants: [...tenants] } }).replaceAll(/\s+/g, ' ');
    expect(textOf([shop, idle])).toContain(
      'shop: 50/s (80.0 %) in time, 60.0 % of GPU time (share 75.0 %), 7 beyond its share',
    );
    expect(textOf([shop, idle])).toContain('idle: nothing offered');
    // There is none to share with.
    expect(textOf([shop])).not.toContain('(share');
  });

  it('shows default, best and gain of each SLO, and what to deploy', () => {
    const text = summaryText(sweepFixture({ seeds: [1] }));
    expect(text).toMatch(/^ 10 ms +10 ms +52\.\d +5 ms +36\d\.?\d* +60\.\d % +6\.9× +–$/m);
    expect(text).toContain('Deploy schedule_ahead = ');
  });

  it('shows who was served in a run', () => {
    expect(summaryText(grouped)).toMatch(
      /^groups +interactive: 57\.8\/s \(29\.1 %\) in 50 ms, p50 never, p99 never\n {10}batch: 1,028\/s \(100 %\) in time/m,
    );
  });

  it('shows latency over all offered requests, and where that differs over the executed ones', () => {
    const { requests } = run.summary;
    expect(summaryText(run)).toMatch(
      /^latency +p50 5\.06 ms, p90 and above never, of all offered requests\nexecuted +p50 5\.06 ms, p90 .*\n +p99.99 .* max \d/m,
    );
    const executedLatencyMs = { ...run.summary.executedLatencyMs, mean: 6 };
    const inTime = { ...requests, ok: requests.offered, late: 0, timeout: 0 };
    const all = { ...run.summary, requests: inTime, offeredLatencyMs: executedLatencyMs, executedLatencyMs };
    const text = summaryText({ ...run, summary: all });
    expect(text).toMatch(/^latency +p50 [\d.]+ ms, p90 /m);
    expect(text).not.toMatch(/never|executed/);
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

  it('ends with the lines to paste', () => {
    const text = summaryText(sweepFixture({ seeds: [1] }), { file: 'runs/a b.yaml' });
    expect(text).toContain('--set policy.kind=clockwork --set policy.scheduleAhead=5ms\n');
    expect(text).toContain('policy: { kind: clockwork, scheduleAhead: 5ms }\n');
    expect(text).toContain(
      "--experiment 'runs/a b.yaml' --set policy.kind=clockwork --set policy.scheduleAhead=5ms\n",
    );
  });

  it('says what has one value once, not in every row', () => {
    const text = summaryText(sweepFixture({ slosMs: [10], seeds: [1] }));
    expect(text).toContain('runs finished, SLO 10 ms');
    expect(text).not.toMatch(/^ *SLO /m);
  });

  it('says how wide a table would be wherever it cuts it', () => {
    const grid = sweepFixture({ seeds: [1], policies: ['clockwork', 'fifo'] });
    const cut = summaryText(grid, { columns: 60 });
    expect(cut).toContain('wider than this terminal');
    expect(summaryText(grid, { columns: 200 })).not.toContain('wider than');
    expect(summaryText(grid)).not.toContain('…');
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
  ])('is plain text of at most 80 columns for %s, but for lines to paste', (_, result) => {
    const text = summaryText(result, { columns: 80 });
    expect(text).not.toContain('\u001b');
    const lines = text.split('\n').filter((line) => !/^(simulate|experiment|serve).*:/.test(line));
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  });
});
