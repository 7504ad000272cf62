import { expect, it } from 'vitest';
import { benchText } from '../../../src/tools/bench/text.js';
import { decide } from '../../../src/tools/bench/verdict.js';
import { findings, resultOf, runOf } from './fixtures.js';

const run = (value: string | null, io: number, synthetic: number, full: number) =>
  runOf(value, { io, synthetic, full }, decide(findings(io, synthetic, full)));

it('shows the stages, the verdict and what to try, in 80 columns', () => {
  const text = benchText(resultOf(null, [run(null, 5210, 312, 300)]), 80);
  expect(text).toBe(`resnet18 (48KiB in, 3.91KiB out)
Some CPU, 1 thread
5 trials of 2 s, 16 clients over HTTP, SLO 1 s

           requests/s  p50 ms  p99 ms
IO         5,210 ± 37      12      34  server 50 %, clients 30 %
SYNTHETIC   312 ± 2.2       –       –  batch 8
FULL        300 ± 2.1      12      34  batch 8.0, busy 95 %

The device is the bottleneck.
By itself it runs 312 requests/s; IO handles 16.7× as many. FULL reaches 96.2 %
of it.
try  runtime.intraOpThreads: an INFER uses 1 of 4 cores
       escapement bench … --vary runtime.intraOpThreads=1,2
     escapement worker: each further machine adds the same throughput; models
     with fewer operations need less
`);
});

it('shows what each value of a key brings, and marks the best where it surely is', () => {
  const runs = [run('1', 5210, 312, 300), run('2', 5190, 560, 520)];
  const text = benchText(resultOf({ key: 'runtime.intraOpThreads', values: ['1', '2'] }, runs), 80);
  expect(text).toContain(`by runtime.intraOpThreads:

              requests/s          p99 ms
IO         1  5,210 ± 37  1.00×       34  server 50 %, clients 30 %
           2  5,190 ± 37  1.00×       34  server 50 %, clients 30 %
SYNTHETIC  1   312 ± 2.2  1.00×        –  batch 8
           2     560 ± 4  1.79×*       –  batch 8
FULL       1   300 ± 2.1  1.00×       34  batch 8.0, busy 95 %
           2   520 ± 3.7  1.73×*      34  batch 8.0, busy 95 %
`);
  expect(text).toContain('runtime.intraOpThreads 2: The device is the bottleneck. By itself it runs 560');
  expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
});
