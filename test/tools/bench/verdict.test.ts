import { describe, expect, it } from 'vitest';
import { estimate } from '../../../src/report/statistics.js';
import type { Service } from '../../../src/tools/bench/result.js';
import { decide, type Findings, isAbove, surelyBest } from '../../../src/tools/bench/verdict.js';
import { findings, stage } from './fixtures.js';

const knobs = (found: Findings) => decide(found).knobs.map(({ key }) => key);

describe('the bottleneck', () => {
  it('is the device, with how much more IO could do', () => {
    const verdict = decide(findings(5000, 300, 290));
    expect(verdict.bottleneck).toBe('device');
    expect(verdict.reason).toBe(
      'By itself it runs 300 requests/s; IO handles 16.7× as many. FULL reaches 96.7 % of it.',
    );
  });

  it('is IO', () => {
    const verdict = decide(findings(5000, 30_000, 4900));
    expect(verdict.bottleneck).toBe('io');
    expect(verdict.reason).toContain('5,000 requests/s');
    expect(verdict.reason).toContain('6.0×');
  });

  it('is what lies between where FULL is clearly behind both', () => {
    expect(decide(findings(5000, 300, 200)).bottleneck).toBe('between');
    expect(decide(findings(5000, 30_000, 2000)).bottleneck).toBe('between');
  });

  it('is still the device where FULL is behind by less than a tenth', () => {
    expect(decide(findings(5000, 300, 275)).bottleneck).toBe('device');
  });

  it('is not clear where the trials scatter as much as FULL is behind', () => {
    const verdict = decide(findings(5000, 300, 200, { full: stage(200, {}, 1) }));
    expect(verdict.bottleneck).toBe('unclear');
    expect(verdict.knobs[0].command).toBe('--trials 10 --duration 5s');
  });

  it('is not clear where IO and device are alike', () => {
    const verdict = decide(findings(300, 301, 295));
    expect(verdict.bottleneck).toBe('unclear');
    expect(verdict.reason).toBe(
      'IO and the device differ by no more than the noise; FULL reaches 98.3 % of the slower one.',
    );
  });

  it('is not clear after one trial', () => {
    const one = (mean: number) => ({ ...stage(mean), throughputRps: estimate([mean]) });
    const verdict = decide({
      ...findings(1, 1, 1),
      io: one(5000),
      synthetic: estimate([300]),
      full: one(290),
    });
    expect(verdict).toMatchObject({ bottleneck: 'unclear', reason: 'One trial cannot show the noise.' });
  });
});

describe('clients that can send no more', () => {
  const saturated = { generator: { busy: 0.97, cores: 1 }, server: { busy: 0.6, cores: 1 } };

  it('are the limit, not IO', () => {
    const verdict = decide(findings(5000, 30_000, 4900, { io: stage(5000, saturated) }));
    expect(verdict.bottleneck).toBe('generator');
    expect(verdict.reason).toContain(
      "97.0 % of the time and the server's for 60.0 %: 5,000 requests/s is a lower bound",
    );
  });

  it('are the limit, not what lies between', () => {
    const full = stage(2000, saturated);
    expect(decide(findings(5000, 30_000, 2000, { full })).bottleneck).toBe('generator');
  });

  it('do not matter where the device is narrower still', () => {
    const verdict = decide(findings(5000, 300, 290, { io: stage(5000, saturated) }));
    expect(verdict.bottleneck).toBe('device');
    expect(verdict.reason).toContain('IO handles at least 16.7× as many');
  });

  it('do not matter where the server is as busy', () => {
    const both = { generator: { busy: 0.95, cores: 1 }, server: { busy: 0.99, cores: 1 } };
    expect(decide(findings(5000, 30_000, 4900, { io: stage(5000, both) })).bottleneck).toBe('io');
  });
});

describe('what to try when the device is the bottleneck', () => {
  it('is more threads of an INFER where processors are free', () => {
    const [knob] = decide(findings(5000, 300, 290)).knobs;
    expect(knob).toMatchObject({
      key: 'runtime.intraOpThreads',
      command: '--vary runtime.intraOpThreads=1,2',
    });
    expect(knobs(findings(5000, 300, 290, { intraOpThreads: 4 }))).not.toContain('runtime.intraOpThreads');
    const two = decide(findings(5000, 300, 290, { intraOpThreads: 3 })).knobs[0];
    expect(two.command).toBe('--vary runtime.intraOpThreads=3,4');
  });

  it('is FP16 and more GPUs on a GPU', () => {
    const gpu = { provider: 'cuda' };
    expect(knobs(findings(5000, 300, 290, gpu))).toEqual(['runtime.precision', '--gpus']);
    expect(knobs(findings(5000, 300, 290, { ...gpu, precision: 'fp16' }))).toEqual(['--gpus']);
  });

  it('is larger batches where the policy holds them back, or where they still gained at the last size', () => {
    const batch = (limit: 'policy' | 'measured', gain: number) => ({ batch: { full: 8, limit, gain } });
    expect(knobs(findings(5000, 300, 290, batch('policy', 0)))).toContain('policy.maxBatch');
    expect(knobs(findings(5000, 300, 290, batch('measured', 0.2)))).toContain('batchSizes');
    expect(knobs(findings(5000, 300, 290, batch('measured', 0.01)))).not.toContain('batchSizes');
  });
});

it('is the other protocol and more controllers when IO is the bottleneck', () => {
  expect(decide(findings(5000, 30_000, 4900)).knobs.map(({ command }) => command)).toEqual([
    '--protocol grpc',
    null,
  ]);
  const grpc = findings(5000, 30_000, 4900, { protocol: 'grpc' });
  expect(decide(grpc).knobs[0].command).toBe('--protocol http');
});

describe('why FULL is behind', () => {
  it.each([
    ['requests failed', { failedShare: 0.09, meanBatch: 2 }, '9.0 % of its requests had no result', 'slo'],
    [
      'batches do not fill',
      { failedShare: 0.06, meanBatch: 3 },
      'its batches hold 3.0 requests; the device is fastest with 8.0',
      'slo',
    ],
    [
      'cores are shared',
      { generator: { busy: 0.5, cores: 0.9 }, server: { busy: 0.5, cores: 3 } },
      'server and clients use 3.9 of 4 cores',
      'escapement worker',
    ],
    [
      'the event loop is full',
      { server: { busy: 0.95, cores: 1 } },
      "the server's event loop is busy",
      '--protocol',
    ],
    ['the device waits', { deviceBusy: 0.5 }, 'the device is busy for 50.0 %', 'policy.scheduleAhead'],
    [
      'the device waits, and batches do not fill',
      { deviceBusy: 0.5, meanBatch: 3 },
      'and waits',
      'policy.scheduleAhead',
    ],
    ['INFERs take longer', {}, 'an INFER takes longer than by itself', 'escapement load'],
  ])('%s', (_, change, reason, knob) => {
    const verdict = decide(findings(5000, 300, 200, { full: stage(200, change) }));
    expect(verdict.reason).toMatch(/^FULL does 200 requests\/s, 33\.3 % less than the device by itself: /);
    expect(verdict.reason).toContain(reason);
    expect(verdict.knobs[0].key).toBe(knob);
  });

  it('is LOADs during INFERs where nothing else is left, on a GPU', () => {
    const { knobs } = decide({ ...findings(5000, 300, 200, { full: stage(200, {}) }), provider: 'cuda' });
    expect(knobs[0].key).toBe('runtime.laneThreads');
  });

  it('is other programs where they take its cores', () => {
    const used = stage(200, { generator: { busy: 0.5, cores: 0.9 }, server: { busy: 0.5, cores: 1 } });
    const verdict = decide(findings(5000, 300, 200, { full: { ...used, otherCores: 1.8 } }));
    expect(verdict.reason).toContain('use 1.9 of 4 cores and other programs 1.8');
  });

  it('is never an SLO that was chosen to have room', () => {
    const behind = (change: Partial<Service>) =>
      knobs(findings(5000, 300, 200, { full: stage(200, change), sloIsGiven: false }));
    expect(behind({ meanBatch: 3 })).toEqual(['--concurrency']);
    expect(behind({ failedShare: 0.2 })).toEqual(['--concurrency']);
    expect(behind({ meanBatch: 3, deviceBusy: 0.3 })).toEqual(['policy.scheduleAhead', '--concurrency']);
  });
});

describe('a difference', () => {
  it('is beyond the noise if the interval of Welch is above 0', () => {
    // Variances 4 and 38/3: 4.8 degrees of freedom, rounded down to 4; half of the interval is 5.89.
    const noisy = [1, 2, 9, 4];
    expect(isAbove(estimate([10, 12, 14]), estimate(noisy))).toBe(true);
    expect(isAbove(estimate([7.8, 9.8, 11.8]), estimate(noisy))).toBe(false);
    expect(isAbove(estimate([9.9, 9.9]), estimate([9.8, 9.8]))).toBe(true);
    expect(isAbove(estimate([300]), estimate([1, 1]))).toBe(false);
  });

  it('makes a value the best if it is above every other', () => {
    const slow = estimate([100, 101, 99]);
    expect(surelyBest([slow, estimate([150, 152, 149]), estimate([120, 121, 119])])).toBe(1);
    expect(surelyBest([slow, estimate([150, 152, 149]), estimate([149, 151, 150])])).toBeNull();
    expect(surelyBest([slow])).toBeNull();
  });
});
