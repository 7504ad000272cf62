import { describe, expect, it } from 'vitest';
import { benchText } from '../../../src/tools/bench/text.js';
import { resultOf, runOf, service } from './fixtures.js';

it('shows the stages and the bottleneck, in 80 columns', () => {
  const text = benchText(resultOf(null, [runOf(null, [5210, 312, 300])]), 80);
  expect(text).toBe(`resnet18 (48KiB in, 3.91KiB out)
Some CPU, 1 thread
5 trials of 2 s, 16 clients over HTTP, SLO 1 s

           requests/s  p50 ms  p99 ms
IO         5,210 ± 37      12      34  server 50 %, clients 30 %
SYNTHETIC   312 ± 2.2       –       –  batch 8
FULL        300 ± 2.1      12      34  batch 8.0, device 95 %, server 50 %

bottleneck: the device
`);
});

it('shows what each value of a key brings', () => {
  const runs = [runOf('1', [5210, 312, 300]), runOf('2', [5190, 560, 520])];
  const text = benchText(resultOf({ key: 'runtime.intraOpThreads', values: ['1', '2'] }, runs), 80);
  expect(text).toContain(`by runtime.intraOpThreads:

              requests/s         p99 ms
IO         1  5,210 ± 37  1.00×      34  server 50 %, clients 30 %
           2  5,190 ± 37  1.00×      34  server 50 %, clients 30 %
SYNTHETIC  1   312 ± 2.2  1.00×       –  batch 8
           2     560 ± 4  1.79×       –  batch 8
FULL       1   300 ± 2.1  1.00×      34  batch 8.0, device 95 %, server 50 %
           2   520 ± 3.7  1.73×      34  batch 8.0, device 95 %, server 50 %
`);
  expect(text).toContain('bottleneck at runtime.intraOpThreads 2: the device');
  expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
});

const THREADS = { key: 'runtime.intraOpThreads', values: ['1', '2'] };
const USUAL = [5000, 300, 290] as const;

describe('notes', () => {
  it('say where the clients were the limit', () => {
    const saturated = service({ generator: { busy: 0.97, cores: 1 }, server: { busy: 0.6, cores: 1 } });
    const limited = runOf('2', USUAL, { change: { service: saturated } });
    const text = benchText(resultOf(THREADS, [runOf('1', USUAL), limited]), 120);
    expect(text).toContain(
      'note: IO at runtime.intraOpThreads 2 is a lower bound: the clients could not send more\n',
    );
  });
});
