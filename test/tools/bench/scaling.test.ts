import { expect, it } from 'vitest';
import {
  compare,
  type ScalingPoint,
  type ScalingResult,
  scalingText,
} from '../../../src/tools/bench/scaling.js';

type Measured = Parameters<typeof compare>[0];

function measured(gpus: number, trialsRps: number[], execMean: number, failedShare = 0): Measured {
  return {
    gpus,
    models: gpus,
    clients: 16 * gpus,
    sloMs: 1000,
    trialsRps,
    activity: {
      execMean,
      execMin: execMean - 0.02,
      profileMean: execMean,
      meanBatch: 8,
      loads: 0,
      failedShare,
      loopBusy: 0.4,
      stepShare: 0.1,
      cores: 1.2,
    },
  };
}

function result(mode: 'strong' | 'weak', all: readonly Measured[], kind = 'simulated'): ScalingResult {
  const points: ScalingPoint[] = all.map((point) => compare(point, all[0]));
  return {
    version: '1.2.3',
    name: 'resnet50',
    device: { text: 'emulated GPUs, by profile', kind },
    cores: 4,
    trials: 3,
    seconds: 2,
    inputBytes: 0,
    runs: [{ mode, points }],
  };
}

it('compares more GPUs with the fewest', () => {
  const points = [
    measured(1, [990, 1000, 1010], 0.98),
    measured(2, [1940, 1960, 1980], 0.97),
    measured(4, [3000, 3040, 3080], 0.76),
  ];
  const { runs } = result('weak', points);
  const [base, , four] = runs[0].points;
  expect(base.efficiency).toEqual({ mean: 1, sd: 0 });
  expect(four.efficiency.mean).toBeCloseTo(0.76, 9);
  const { busy, batches, device } = four.factors;
  expect(busy * batches * device).toBeCloseTo(four.efficiency.mean, 9);
  expect(`\n${scalingText(result('weak', points), 80)}`).toMatchInlineSnapshot(`
    "
    resnet50 on emulated GPUs, by profile; controller and clients in one process of
    a machine with 4 cores
    no tensors; warm-up, then 3 trials of 2 s

    weak scaling: 1 model and 16 clients for each GPU, SLO 1 s

    GPUs  requests/s  efficiency   busy  batches  device     EXEC  batch   thread
       1       1,000       100 %  1.00×    1.00×   1.00×  98/96 %    8.0  40/10 %
       2       1,960    98 % ± 1  0.99×    0.99×   1.00×  97/95 %    8.0  40/10 %
       4       3,040    76 % ± 1  0.78×    0.98×   1.00×  76/74 %    8.0  40/10 %

    efficiency: requests/s per GPU, relative to the fewest GPUs, ± standard
    deviation; it is about busy × batches × device: how busy the GPUs are, how well
    batches use them by the profile, how fast INFERs are compared with it. EXEC: how
    busy the GPUs are on average / the least busy one; thread: how busy the thread
    of controller and clients is / with scheduling steps
    "
  `);
});

it('says what makes figures less than they could be', () => {
  const text = scalingText(
    result('strong', [measured(1, [500, 500], 0.5), measured(2, [1000, 1000], 0.5, 0.02)], 'cpu'),
    100,
  );
  expect(text).toContain('note: the base is busy for only 50 %: it loses something itself');
  expect(text).toContain('note: these GPUs share the 4 cores of this machine');
  expect(text).toContain('note: up to 2 % of the requests had no result');
});
