import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ClusterStatus } from '../../../src/live/observe/status/cluster-status.js';
import { topLines } from '../../../src/tools/top/top-text.js';
import { clusterStatus, gpu, modelStatus } from './fixtures.js';

function lines(status: ClusterStatus, rows?: number, problem = ''): string[] {
  return topLines({ url: 'http://127.0.0.1:8002', status, problem }, rows);
}

describe('the state of a cluster', () => {
  it('is rates, GPUs and models', () => {
    expect(`\n${lines(clusterStatus(2, 5), 24).join('\n')}\n`).toMatchInlineSnapshot(`
      "
      ready: escapement on gpu-17, policy clockwork, http://127.0.0.1:8002, up 1:02:03
      in 187.4/s, goodput 180.2/s, failed 7.21/s, in time 96.2 %, unanswered 12
      since the start: ok 1,234,567, late 12, timeout 345, rejected 6, error 0
      2 of 2 GPUs up, on average EXEC 5.0 %, WEIGHTS 5.0 %, memory 75.0 %

      GPU  KIND  EXEC%  WEIGHTS%  MEM%  WARM    AHEAD  WORKER         RUNS
        0  cuda    0.0       5.0  75.0    40  0.25 ms  10.0.0.0:8003  resnet50_0 ×4, LOAD bert
        1  cuda   10.0       5.0  75.0    41  1.25 ms  10.0.0.1:8003  resnet50_1 ×4

      WARM  QUEUED  ARR/S  GOOD/S  FAIL/S   SLO%    QUEUE     EXEC  MODEL
         1       0    100      99       1   99.0  0.00 ms  12.5 ms  model0
         2       7     50    49.5       0  100.0  4.20 ms  12.5 ms  model1
         3       0   33.3      33       0  100.0  8.40 ms  12.5 ms  model2
         1       0     25    24.8       0  100.0  12.6 ms  12.5 ms  model3
         2       0     20    19.8       0  100.0  16.8 ms  12.5 ms  model4
      "
    `);
  });

  it('has classes and tenants if the server has, the most active first', () => {
    const rates = { offeredRps: 100, goodputRps: 60, failedRps: 40, refusedRps: 5, usedShare: 0.25 };
    const status = clusterStatus(1, 3, {
      classes: [{ name: 'gold', weight: 10, share: 0.1, ...rates, usedShare: null }],
      tenants: [
        { name: 'others', share: 0.5, ...rates, overRateRps: 0, overShareRps: 0, offeredRps: 0 },
        { name: 'acme\u001b[2J', share: 0.25, ...rates, overRateRps: 25, overShareRps: 10 },
        { name: 'research', share: 0.25, ...rates, overRateRps: 0, overShareRps: 35, offeredRps: 200 },
      ],
    });
    const shown = lines(status);
    const from = shown.findIndex((line) => line.startsWith('CLASS'));
    expect(`\n${shown.slice(from, from + 7).join('\n')}\n`).toMatchInlineSnapshot(`
      "
      CLASS  ARR/S  GOOD/S  FAIL/S  SLO%  SHARE%  USED%  REF/S
      gold     100      60      40  60.0    10.0      –      5

      TENANT         ARR/S  GOOD/S  FAIL/S  SLO%  SHARE%  USED%  REF/S  >RATE/S  >SHR/S
      research         200      60      40  60.0    25.0   25.0      5        0      35
      acme\\u001b[2J    100      60      40  60.0    25.0   25.0      5       25      10
      others             0      60      40  60.0    50.0   25.0      5        0       0
      "
    `);
    expect(lines(clusterStatus(1, 3)).join('')).not.toMatch(/CLASS|TENANT/);
  });

  it('says what is left out where there is no room', () => {
    const shown = lines(clusterStatus(100, 200, { otherModels: 3800 }), 24);
    expect(shown).toHaveLength(24);
    expect(shown.filter((line) => line.startsWith('…'))).toEqual(['… 93 more GPUs', '… 194 more models']);
    const all = lines(clusterStatus(100, 200, { otherModels: 3800 }));
    expect(all.filter((line) => / model\d+$/.test(line))).toHaveLength(200);
    expect(all.at(-1)).toBe('… 3,800 more with fewer requests');
  });

  it('lists GPUs that are gone first, and counts them', () => {
    const gpus = Array.from({ length: 60 }, (_, n) => gpu(n, n === 30 ? { up: false } : {}));
    const shown = lines({ ...clusterStatus(1, 2), gpus }, 24);
    expect(shown[3]).toMatch(/^59 of 60 GPUs up, /);
    expect(shown[6]).toMatch(/^ 30 {2}gone /);
  });

  it('begins with what is wrong', () => {
    const problem = 'no answer for 12 s, trying again';
    expect(lines(clusterStatus(1, 1), 15, problem)[0]).toMatch(/^NO ANSWER FOR 12 S, TRYING AGAIN: /);
    expect(lines(clusterStatus(1, 1, { ready: false }))[0]).toMatch(/^NOT READY: /);
  });

  it('has dashes for what is not known', () => {
    const idle = { offeredRps: 0, goodputRps: 0, failedRps: 0 };
    const unseen = { queueMs: null, copyInMs: null, execMs: null, copyOutMs: null };
    const lastMinute = { offeredRps: [], goodputRps: [], failedRps: [] };
    const status = clusterStatus(1, 1, {
      models: [modelStatus(0, { ...idle, ...unseen, queued: 0 })],
      requests: { ...idle, unanswered: 0, totals: { ok: 0 }, lastMinute },
    });
    expect(lines(status)[1]).toContain('in time –');
    expect(lines(status).at(-1)).toMatch(/^ +1 +0 +0 +0 +0( +–){3} {2}model0$/);
    expect(lines({ ...status, gpus: [], models: [] })[3]).toBe('0 of 0 GPUs up, on average memory –');
  });

  it('names the lane of GPUs that do one thing at a time', () => {
    const lanes = [{ lane: 'EXEC+WEIGHTS', busy: 0.5, bookedMs: 1, running: 'LOAD bert' }];
    const shown = lines({ ...clusterStatus(1, 1), gpus: [gpu(0, { lanes })] });
    expect(shown.find((line) => line.startsWith('GPU'))).toContain('EXEC+WEIGHTS%');
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
