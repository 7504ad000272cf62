import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ClusterStatus } from '../../../src/live/observe/status/cluster-status.js';
import { Histogram } from '../../../src/record/histogram.js';
import { latencyMs } from '../../../src/record/latency.js';
import { topLines } from '../../../src/tools/top/top-text.js';
import { failuresOf } from '../../record/fixtures.js';
import { clusterStatus, modelStatus, requestFigures } from './fixtures.js';

function lines(status: ClusterStatus, rows?: number, problem = ''): string[] {
  return topLines({ url: 'http://127.0.0.1:8002', status, problem }, rows);
}

describe('the state of a cluster', () => {
  it('is rates, GPUs and models', () => {
    expect(`\n${lines(clusterStatus(2, 5), 24).join('\n')}\n`).toMatchInlineSnapshot(`
      "
      ready: escapement on gpu-17, policy clockwork, http://127.0.0.1:8002, up 1:02:03
      offered 187.4/s, in time 180.2/s, attainment 96.2 %, p50 12.5 ms, p95 25.0 ms, p99 never, unanswered 12
      since the start: ok 1,234,567, late 12, timeout 345, rejected 6, error 0
      2 of 2 GPUs up, on average EXEC 5.0 %, WEIGHTS 5.0 %, memory 75.0 %

      GPU  KIND  EXEC%  WEIGHTS%  MEM%  WARM    AHEAD  WORKER         RUNS
        0  cuda    0.0       5.0  75.0    40  0.25 ms  10.0.0.0:8003  resnet50_0 ×4, LOAD bert
        1  cuda   10.0       5.0  75.0    41  1.25 ms  10.0.0.1:8003  resnet50_1 ×4

      MODEL   COPIES  QUEUED  OFFERED/S  IN TIME/S  ATTAINMENT      P50      P95      P99  REFUSED    QUEUE     EXEC
      model0       1       0        100         99      99.0 %  12.5 ms  25.0 ms    never        0  0.00 ms  12.5 ms
      model1       2       7       49.5       49.5       100 %  12.5 ms  25.0 ms  50.0 ms        0  4.20 ms  12.5 ms
      model2       3       0         33         33       100 %  12.5 ms  25.0 ms  50.0 ms        0  8.40 ms  12.5 ms
      model3       1       0       24.8       24.8       100 %  12.5 ms  25.0 ms  50.0 ms        0  12.6 ms  12.5 ms
      model4       2       0       19.8       19.8       100 %  12.5 ms  25.0 ms  50.0 ms        0  16.8 ms  12.5 ms
      "
    `);
  });

  it('has classes and tenants if the server has, the most active first', () => {
    const model = [modelStatus(0)];
    const class_ = [{ key: 'gold', weight: 10, share: 0.1, ...requestFigures(60, 40), gpuShare: null }];
    const failures = failuresOf({ overRate: 25, overShare: 10, refused: 5 });
    const status = clusterStatus(1, 3, {
      by: {
        model,
        class: class_,
        tenant: [
          { key: 'idle', share: 0.5, ...requestFigures(0), gpuShare: 0 },
          { key: 'acme\u001b[2J', share: 0.25, ...requestFigures(60, 40), failures, gpuShare: 0.25 },
          { key: 'research', share: 0.25, ...requestFigures(200), failures, gpuShare: 0.75 },
          { key: 'others', others: 3, share: 0.25, ...requestFigures(300), failures, gpuShare: 0.75 },
        ],
      },
    });
    const shown = lines(status);
    const from = shown.findIndex((line) => line.startsWith('CLASS'));
    expect(`\n${shown.slice(from).join('\n')}\n`).toMatchInlineSnapshot(`
      "
      CLASS      GPU TIME   SHARE  OFFERED/S  IN TIME/S  ATTAINMENT      P50      P95    P99  REFUSED
      gold × 10         –  10.0 %        100         60      60.0 %  12.5 ms  25.0 ms  never        0

      TENANT         GPU TIME   SHARE  BEYOND RATE  BEYOND SHARE  OFFERED/S  IN TIME/S  ATTAINMENT      P50      P95      P99  REFUSED
      research         75.0 %  25.0 %           25            10        200        200       100 %  12.5 ms  25.0 ms  50.0 ms        5
      acme\\u001b[2J    25.0 %  25.0 %           25            10        100         60      60.0 %  12.5 ms  25.0 ms    never        5
      idle                0 %  50.0 %            –             –          0          0           –  12.5 ms  25.0 ms  50.0 ms        0
      3 others         75.0 %  25.0 %           25            10        300        300       100 %  12.5 ms  25.0 ms  50.0 ms        5

      MODEL   COPIES  QUEUED  OFFERED/S  IN TIME/S  ATTAINMENT      P50      P95    P99  REFUSED    QUEUE     EXEC
      model0       1       0        100         99      99.0 %  12.5 ms  25.0 ms  never        0  0.00 ms  12.5 ms
      "
    `);
    expect(lines(clusterStatus(1, 3)).join('')).not.toMatch(/CLASS|TENANT/);
  });

  it('says what is left out where there is no room', () => {
    const shown = lines(clusterStatus(100, 200), 24);
    expect(shown).toHaveLength(24);
    expect(shown.filter((line) => line.startsWith('…'))).toEqual(['… 93 more GPUs', '… 193 more models']);
    const model = [...clusterStatus(1, 200).by.model, modelStatus(200, { key: 'others', others: 3800 })];
    const all = lines(clusterStatus(100, 0, { by: { model } }));
    expect(all.filter((line) => /^model\d+ /.test(line))).toHaveLength(200);
    expect(all.at(-1)).toMatch(/^3,800 others /);
  });

  it('has dashes for what is not known', () => {
    const none = latencyMs(new Histogram(), 0);
    const idle = { ...requestFigures(0), offeredLatencyMs: none, executedLatencyMs: none };
    const unseen = { queueMs: null, copyInMs: null, execMs: null, copyOutMs: null };
    const status = clusterStatus(1, 1, {
      by: { model: [modelStatus(0, { ...idle, ...unseen, queued: 0 })] },
      ...{ ...idle, totals: { ok: 0 } },
    });
    expect(lines(status)[1]).toContain('attainment –, p50 –, p95 –, p99 –');
    expect(lines(status).at(-1)).toMatch(/^model0 +1 +0 +0 +0( +–){4} +0( +–){2}$/);
    expect(lines({ ...status, gpus: [], by: { model: [] } })[3]).toBe('0 of 0 GPUs up, on average memory –');
  });

  it('never has more lines than there are rows', () => {
    const { integer, nat } = fc;
    fc.assert(
      fc.property(integer({ min: 1, max: 60 }), nat(200), nat(60), (rows, gpus, models) => {
        expect(lines(clusterStatus(gpus, models), rows).length).toBeLessThanOrEqual(rows);
      }),
    );
  });
});
