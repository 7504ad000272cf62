import { describe, expect, it } from 'vitest';
import { collectOperators } from '../../../../src/live/worker/executor/collect-operators.js';

/** A profile of onnxruntime with these runs, 1 ms apart, of 100 µs each and with so many operators of 10 µs. */
function profile(...operators: number[]): string {
  const line = (ts: number, dur: number, rest: string) => `{"dur" :${dur},"ts" :${ts},"name" :${rest}},`;
  return operators
    .flatMap((count, run) => [
      ...Array.from({ length: count }, (_, i) =>
        line(
          1000 * run + 10 * (i % 10),
          10,
          `"n${i}_kernel_time","args" : {"op_name" : "Conv","provider" : "CPU"}`,
        ),
      ),
      line(1000 * run, 100, '"model_run","args" : {}'),
    ])
    .join('\n');
}

/** Runs of actions that were measured when `profile` says, if its clock began at 5 ms. */
function measured(first: number, ...actions: number[]): Float64Array {
  return Float64Array.from(
    actions.flatMap((action, i) => [action, 5e6 + 1e6 * (first + i), 5e6 + 1e6 * (first + i) + 100_000]),
  );
}

describe('collectOperators', () => {
  it('tells INFERs from what came before and after them', () => {
    const logs = [{ path: 'a', warmUps: 2, runs: measured(2, 70, 80) }];
    const { operators, dropped } = collectOperators([{ logs, missed: 0 }], () => profile(3, 3, 2, 1, 5));
    const node = { operator: 'Conv', provider: 'CPU' };
    expect(operators).toEqual([
      { action: 70, name: 'n0', ...node, beginNs: 7_000_000, endNs: 7_010_000 },
      { action: 70, name: 'n1', ...node, beginNs: 7_010_000, endNs: 7_020_000 },
      { action: 80, name: 'n0', ...node, beginNs: 8_000_000, endNs: 8_010_000 },
    ]);
    expect(dropped).toBe(0);
  });

  it('reckons what is missing: INFERs that were not recorded, and a file that is cut off', () => {
    const reports = [
      { logs: [{ path: 'a', warmUps: 0, runs: measured(0, 1, 2, 3) }], missed: 2 },
      { logs: [], missed: 1 },
    ];
    const { operators, dropped } = collectOperators(reports, () => profile(4, 6));
    expect(operators.length).toBe(10);
    expect(dropped).toBe(4 * 5);
    expect(collectOperators(reports, () => '')).toEqual({ operators: [], dropped: 0 });
  });

  it('keeps the earliest if there are too many', () => {
    const logs = [
      { path: 'late', warmUps: 0, runs: measured(1, 9) },
      { path: 'early', warmUps: 0, runs: measured(0, 8) },
    ];
    const read = (path: string) => (path === 'early' ? profile(150_000) : profile(150_000));
    const { operators, dropped } = collectOperators([{ logs, missed: 0 }], read);
    expect(operators.filter(({ action }) => action === 8).length).toBe(150_000);
    expect(operators.length).toBe(200_000);
    expect(dropped).toBe(100_000);
  });
});
