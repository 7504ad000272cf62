import { describe, expect, it } from 'vitest';
import type { BenchRun } from '../../../src/tools/bench/result.js';
import { benchText, differenceLines, nextKnobs, warnings } from '../../../src/tools/bench/text.js';
import { decide } from '../../../src/tools/bench/verdict.js';
import { findings, resultOf, runOf, service } from './fixtures.js';

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
     escapement worker: each further machine adds the same throughput
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

const usual = (value: string | null) => run(value, 5000, 300, 290);
const THREADS = { key: 'runtime.intraOpThreads', values: ['1', '2'] };

describe('warnings', () => {
  const changed = (change: Partial<BenchRun['stages'][number]>): BenchRun => {
    const plain = usual('2');
    return { ...plain, stages: plain.stages.map((stage, i) => (i === 0 ? { ...stage, ...change } : stage)) };
  };

  it('are none on a quiet machine', () => {
    expect(warnings(resultOf(null, [usual(null)]))).toEqual([]);
  });

  it('say where the clients were the limit', () => {
    const saturated = service({ generator: { busy: 0.97, cores: 1 }, server: { busy: 0.6, cores: 1 } });
    expect(warnings(resultOf(THREADS, [usual('1'), changed({ service: saturated })]))).toEqual([
      "IO at runtime.intraOpThreads 2 is a lower bound: the clients could not send more (97 % busy, the server's 60 %)",
    ]);
  });

  it('say when other programs were at work', () => {
    expect(warnings(resultOf(null, [changed({ otherCores: 1.26 })]))).toEqual([
      'other programs used up to 1.3 of 4 cores meanwhile: the figures are too low, and differences may be due to those programs',
    ]);
  });
});

it('does not advise what was varied', () => {
  expect(nextKnobs(resultOf(null, [usual(null)])).map(({ key }) => key)).toContain('runtime.intraOpThreads');
  expect(nextKnobs(resultOf(THREADS, [usual('1'), usual('2')])).map(({ key }) => key)).toEqual([
    'escapement worker',
  ]);
});

it('tells what FP16 does to the outputs', () => {
  const precision = [
    {
      model: 'mlp',
      requests: 32,
      maxAbsolute: 0.00123,
      maxRelative: 0.000312,
      overflowed: 0,
      sameLargest: 1,
    },
    { model: 'wide', requests: 32, maxAbsolute: 0, maxRelative: 0, overflowed: 0.25, sameLargest: 0 },
  ];
  expect(differenceLines({ ...resultOf(null, [usual(null)]), precision })).toEqual([
    'mlp: outputs at fp16 differ from those at fp32 by at most 0.0012, 0.031 % of the largest; the largest is the same in 100 % of 32 requests',
    'wide: outputs at fp16 differ from those at fp32 by at most 0.0, 0 % of the largest; the largest is the same in 0 % of 32 requests; 25.0 % of the values overflow in fp16',
  ]);
});
