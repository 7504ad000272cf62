import { describe, expect, it } from 'vitest';
import { Histogram } from '../../../src/record/histogram.js';
import { latencyCdf, percentilesMs } from '../../../src/record/latency.js';
import type { CellResult } from '../../../src/record/results.js';
import { checkTarget, figuresOf, PERCENTILES, targetValue } from '../../../src/run/cells/figures.js';
import { parseTarget } from '../../../src/run/plan/judge.js';
import { failure } from '../../config/failure.js';
import { cellResult } from '../sweep/fixtures.js';

/** The result of a run that answered in time with these latencies, and `failed` requests not. */
function resultOf(ms: readonly number[], failed: number): CellResult {
  const ok = new Histogram();
  for (const one of ms) ok.record(one * 1e6);
  const offered = ms.length + failed;
  const { summary, ...rest } = cellResult(0);
  return {
    ...rest,
    summary: {
      ...summary,
      requests: { offered, ok: ms.length, late: 0, timeout: failed, rejected: 0, error: 0 },
      ...{ offeredRps: offered / 10, goodputRps: ms.length / 10, attainment: ms.length / offered },
      percentiles: percentilesMs(PERCENTILES, { ok, offered, executed: ok }),
    },
    latencyCdf: latencyCdf(ok, offered),
  };
}

/** Latencies of 1 to 100 ms without a pattern. */
const latencies = (count: number, seed: number) =>
  Array.from({ length: count }, (_, i) => 1 + ((i * 7919 + seed * 104_729) % 99_000) / 1000);

describe('the figures of cells together', () => {
  const one = latencies(5000, 1);
  const two = latencies(800, 2).map((ms) => ms / 3);
  const cells = [resultOf(one, 10), resultOf(two, 20)];

  it('are sums, and the attainment is of all requests', () => {
    expect(figuresOf(cells)).toMatchObject({ offeredRps: 583, goodputRps: 580, attainment: 5800 / 5830 });
  });

  it.each([50, 90, 99, 99.4])(
    'p%d is that of all requests in one list, at most a step above',
    (percentile) => {
      const all = [...one, ...two].sort((a, b) => a - b);
      const at = (share: number) => all[Math.ceil(share * 5830) - 1] ?? Number.POSITIVE_INFINITY;
      const found = targetValue(parseTarget(`p${percentile}<1ms`), cells)!;
      expect(found).toBeGreaterThanOrEqual(at(percentile / 100) * 0.999);
      expect(found).toBeLessThanOrEqual(at(Math.min(percentile / 100 + 0.005, 5800 / 5830)) * 1.001);
    },
  );

  it('a percentile that falls on a request without an answer in time is never reached', () => {
    expect(targetValue(parseTarget('p99.6<1ms'), cells)).toBe(Number.POSITIVE_INFINITY);
    expect(figuresOf([resultOf([1, 2, 3], 1)]).p99Ms).toBeNull();
  });

  it('of one cell are those that it measured', () => {
    const [cell] = cells;
    const exact = cell!.summary.percentiles!.find(({ percentile }) => percentile === 99)!.offeredMs;
    expect(figuresOf([cell!]).p99Ms).toBe(exact);
  });

  it('cells without requests change nothing, and without any there is no figure', () => {
    const idle = resultOf([], 0);
    const quiet = { ...idle, summary: { ...idle.summary, attainment: 0, coldStarts: 0 } };
    expect(figuresOf([...cells, quiet])).toEqual(figuresOf(cells));
    expect(targetValue(parseTarget('attainment>=0.5'), [quiet])).toBeNull();
  });
});

it('targets are on figures that add up', () => {
  for (const text of ['attainment>=0.99', 'goodputRps>5', 'p99.9<50ms']) checkTarget(parseTarget(text));
  for (const text of ['executedP99<50ms', 'coldStarts<5', 'max<1s', 'p100<1s']) {
    expect(failure(() => checkTarget(parseTarget(text))).message).toContain('with --cells, targets are on');
  }
});
