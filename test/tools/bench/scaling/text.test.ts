import { describe, expect, it } from 'vitest';
import { scalingText } from '../../../../src/tools/bench/scaling/text.js';
import { resultFixture } from './fixtures.js';

describe('scaling text', () => {
  it('fits into 80 columns', () => {
    const text = scalingText(resultFixture(['strong', 'weak']), 80);
    expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it('has a row for each number of GPUs, and the verdict below', () => {
    expect(scalingText(resultFixture(['strong']), 110)).toBe(`\
small on emulated GPUs, by profile; controller and clients in one process of a machine with 8 cores
585.94KiB a request; warm-up, then 3 trials

strong scaling: 1,000 requests of 4 models from 80 clients in all, SLO 1 s

GPUs              s  requests/s  speed-up  efficiency     EXEC  batch   thread
   1  1.020 ± 0.020         980      1.00       100 %  98/98 %   10.0   20/5 %
   2  0.520 ± 0.010       1,923      1.96    98 % ± 3  96/96 %   10.0  20/10 %
   4  0.330 ± 0.010       3,030      3.09    77 % ± 3  76/76 %   10.0  99/15 %

Strong scaling: 77.3 % efficiency on 4 GPUs; 90 % is kept up to 2.
GPUs are busy for 75.8 % of the time, the least busy for 75.8 %, because the controller is at its limit: its
thread is busy for 99.0 % of the time (15.2 % in steps, with clients that send 1.8 GB/s of tensors).

efficiency: requests/s per GPU, relative to the fewest GPUs; ±: standard deviation; EXEC: how busy the GPUs
are on average / the least busy one; thread: how busy the thread of controller and clients is / with
scheduling steps
`);
  });

  it('says what makes the figures less than they look', () => {
    const result = resultFixture(['weak']);
    const [run] = result.runs;
    const points = run.points.map((point) => ({
      ...point,
      activity: { ...point.activity, execMean: 0.6, failedShare: 0.02, loads: 20 },
    }));
    const text = scalingText(
      { ...result, device: { text: 'a CPU', kind: 'cpu' }, runs: [{ ...run, points }] },
      200,
    );
    expect(text).toContain('note: the base keeps its GPU busy for only 60 %');
    expect(text).toContain('note: these are 4 GPUs in name only: they share the 8 cores');
    expect(text).toContain('sent again: 2.0 % with 1, 2.0 % with 2, 2.0 % with 4');
    expect(text).toContain('LOADs in a trial: 20 with 1, 20 with 2, 20 with 4');
  });
});
