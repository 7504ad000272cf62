import { describe, expect, it } from 'vitest';
import { benchCharts } from '../../../src/tools/bench/charts.js';
import { benchPage } from '../../../src/tools/bench/page.js';
import { differenceLines, nextKnobs, warnings } from '../../../src/tools/bench/reading.js';
import type { BenchRun } from '../../../src/tools/bench/result.js';
import { decide } from '../../../src/tools/bench/verdict.js';
import { findings, resultOf, runOf, service } from './fixtures.js';

const run = (value: string | null, full = 290) =>
  runOf(value, { io: 5000, synthetic: 300, full }, decide(findings(5000, 300, full)));
const THREADS = { key: 'runtime.intraOpThreads', values: ['1', '2'] };

describe('warnings', () => {
  const changed = (change: Partial<BenchRun['stages'][number]>): BenchRun => {
    const plain = run('2');
    return { ...plain, stages: plain.stages.map((stage, i) => (i === 0 ? { ...stage, ...change } : stage)) };
  };

  it('are none on a quiet machine', () => {
    expect(warnings(resultOf(null, [run(null)]))).toEqual([]);
  });

  it('say where the clients were the limit', () => {
    const saturated = service({ generator: { busy: 0.97, cores: 1 }, server: { busy: 0.6, cores: 1 } });
    expect(warnings(resultOf(THREADS, [run('1'), changed({ service: saturated })]))).toEqual([
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
  expect(nextKnobs(resultOf(null, [run(null)])).map(({ key }) => key)).toContain('runtime.intraOpThreads');
  expect(nextKnobs(resultOf(THREADS, [run('1'), run('2')])).map(({ key }) => key)).toEqual([
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
  expect(differenceLines({ ...resultOf(null, [run(null)]), precision })).toEqual([
    'mlp: outputs at fp16 differ from those at fp32 by at most 0.0012, 0.031 % of the largest; the largest is the same in 100 % of 32 requests',
    'wide: outputs at fp16 differ from those at fp32 by at most 0.0, 0 % of the largest; the largest is the same in 0 % of 32 requests; 25.0 % of the values overflow in fp16',
  ]);
});

describe('charts and page', () => {
  const titleOf = (spec: unknown) => (spec as { title: { text: string; subtitle: readonly string[] } }).title;

  it('show the stages side by side, with the bottleneck marked', () => {
    const [{ name, spec }] = benchCharts(resultOf(null, [run(null)]));
    expect(name).toBe('stages');
    expect(titleOf(spec).subtitle.join(' ')).toContain('The device is the bottleneck');
    const { values } = (spec as unknown as { data: { values: { name: string; bottleneck: boolean }[] } })
      .data;
    expect(values.filter(({ bottleneck }) => bottleneck).map((row) => row.name)).toEqual(['SYNTHETIC']);
  });

  it('show the stages over the values, and the best where it is beyond the noise', () => {
    const [{ spec }] = benchCharts(resultOf(THREADS, [run('1'), run('2', 295)]));
    expect(titleOf(spec).subtitle.join(' ')).toContain(
      'FULL is best with runtime.intraOpThreads 2: 1.02× of 1',
    );
    const [alike] = benchCharts(resultOf(THREADS, [run('1'), run('2', 290.5)]));
    expect(titleOf(alike.spec).subtitle.join(' ')).toContain('No value makes FULL faster');
  });

  it('stand on one page with every figure', () => {
    const page = benchPage(resultOf(THREADS, [run('1'), run('2', 295)]), []);
    for (const text of [
      'FULL is best with',
      '5,000 ± 35',
      '1.02×',
      '16 clients over HTTP',
      'escapement worker',
    ]) {
      expect(page).toContain(text);
    }
  });
});
