import { describe, expect, it } from 'vitest';
import type { Trial } from '../../../../src/tools/bench/scaling/trial.js';
import { type Circumstances, judgeScaling } from '../../../../src/tools/bench/scaling/verdict.js';
import { CIRCUMSTANCES, measuredFixture, point, pointsOf, trial } from './fixtures.js';

/** One GPU without losses, and four that take `seconds` instead of 0.25. */
function judge(seconds: number, change: Partial<Trial>, circumstances: Circumstances = CIRCUMSTANCES) {
  const points = pointsOf([point(1, [trial(1, 1)]), point(4, [trial(seconds, 4, change)])]);
  return judgeScaling('strong', points, circumstances);
}

describe('scaling verdict', () => {
  it('says the efficiency of the most GPUs, and how many keep 90 %', () => {
    const verdict = judgeScaling('strong', pointsOf(measuredFixture()), CIRCUMSTANCES);
    expect(verdict).toMatchObject({ goodGpus: 2, loss: 'controller' });
    expect(verdict.title).toBe('Strong scaling: 77.3 % efficiency on 4 GPUs; 90 % is kept up to 2');
    expect(verdict.reason).toMatch(/its thread is busy for 99.0 % .* 1.8 GB\/s of tensors/);
  });

  it('needs no reason where next to nothing is lost', () => {
    const points = pointsOf([point(1, [trial(1, 1)]), point(4, [trial(0.255, 4)])]);
    expect(judgeScaling('weak', points, CIRCUMSTANCES)).toMatchObject({
      title: 'Weak scaling: 98.0 % efficiency on 4 GPUs; 90 % is kept',
      goodGpus: 4,
      loss: 'none',
      reason: '',
    });
  });

  it('keeps the base where nothing else is good', () => {
    expect(judge(0.9, {}).goodGpus).toBe(1);
  });

  it.each([
    ['others take the processors', 'cores', { waitNs: 0.1e9, loopBusy: 1 }],
    ['the thread of the controller is full', 'controller', { loopBusy: 0.95 }],
    ['this process fills the machine', 'cores', { cores: 7.9 }],
    ['models are loaded over and over', 'loads', { loads: 40 }],
    ['one GPU has less to do', 'uneven', { busyNs: [0.3e9, 0.3e9, 0.3e9, 0.1e9] }],
    ['GPUs wait for orders', 'idle', {}],
    ['batches are smaller', 'batches', { infers: 200, profileNs: 1.6e9, busyNs: new Array(4).fill(0.4e9) }],
    ['INFERs take longer', 'device', { busyNs: new Array(4).fill(0.4e9) }],
  ] as const)('names the loss: %s', (_, loss, change) => {
    expect(judge(0.42, change).loss).toBe(loss);
  });

  it('blames processors that GPUs of the CPU share, not the device', () => {
    const slower = { busyNs: new Array<number>(4).fill(0.4e9) };
    const verdict = judge(0.42, slower, { cores: 2, onCpu: true, inputBytes: 0 });
    expect(verdict.loss).toBe('cores');
    expect(verdict.reason).toContain('4 GPUs share 2 cores');
  });
});
