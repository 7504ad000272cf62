import { describe, expect, it } from 'vitest';
import { latticeOf, parseOver } from '../../../src/run/plan/over.js';

function values(text: string, integer = false): string[] {
  const lattice = latticeOf(parseOver(text), integer);
  return Array.from({ length: lattice.size }, (_, i) => lattice.text(i));
}

describe('the values of a range', () => {
  it('go one by one where the key is a whole number', () => {
    expect(values('cluster.gpus=1:5', true)).toEqual(['1', '2', '3', '4', '5']);
    expect(values('cluster.gpus=8:64:8', true)).toHaveLength(8);
  });

  it('are listed exactly where there is a step, and keep their unit', () => {
    expect(values('slo=10ms:11ms:0.25ms')).toEqual(['10ms', '10.25ms', '10.5ms', '10.75ms', '11ms']);
    expect(values('workload.load=0:100%:50%')).toEqual(['0%', '50%', '100%']);
    expect(values('cluster.network.delay=0:1000us:500us')).toEqual(['0us', '500us', '1000us']);
  });

  it.each(['slo=10ms:500ms', 'workload.rate=100/s:5000/s', 'workload.0.scale=0.5:20'])(
    '%s goes in steps of about 1 %% from one end to the other',
    (text) => {
      const [from, to] = text.split('=')[1]!.split(':') as [string, string];
      const texts = values(text);
      expect([texts[0], texts.at(-1)]).toEqual([from, to]);
      const numbers = texts.map(asNumber);
      const ratios = numbers.slice(1).map((number, i) => number / numbers[i]!);
      expect(Math.min(...ratios)).toBeGreaterThan(1);
      expect(Math.max(...ratios)).toBeLessThan(1.021);
      expect(
        texts.slice(1, -1).every((value) => value.replace(/\D/g, '').replace(/^0+/, '').length <= 4),
      ).toBe(true);
    },
  );

  it.each([
    ['slo', /--over slo: write KEY=FROM:TO/],
    ['slo=10ms', /write KEY=FROM:TO/],
    ['seed=1:3', /--seeds/],
    ['cluster.network.delay=0:1ms:500us', /mixes units: write start, end and step in the same unit/],
    ['slo=20ms:10ms', /--over slo=20ms:10ms: the range must ascend: write slo=10ms:20ms/],
    ['slo=900us:2s', /mixes units: write both ends in us/],
    ['slo=10ms:10ms', /a range needs two different ends/],
    ['workload.load=50%:50%', /a range needs two different ends/],
    ['slo=20ms:10ms:1ms', /--over slo: .*not a range/],
    ['slo=10ms:20', /mixes units: write both ends in ms/],
    ['slo=10ms:20/s', /mixes units/],
    ['workload.rate=1/s:1k/s', /mixes units/],
    ['slo=fast:slow', /fast is not a number/],
    ['slo=10ms:20ms:long', /long is not a number/],
    ['slo=10ms:12ms:5ms', /the step is longer than the range/],
    ['cluster.noise.exec=0:5%', /a range from 0 needs a step/],
  ])('%s is refused', (text, message) => {
    expect(() => values(text)).toThrow(
      expect.objectContaining({ code: 'E_USAGE', message: expect.stringMatching(message) }),
    );
  });

  it('has two ends also where the key is a whole number', () => {
    expect(() => values('cluster.gpus=2:2', true)).toThrow(/a range needs two different ends/);
  });
});

/** In seconds where it is a time. */
function asNumber(text: string): number {
  const scale = text.endsWith('us') ? 1e-6 : text.endsWith('ms') ? 1e-3 : 1;
  return Number.parseFloat(text) * scale;
}
