import { describe, expect, it } from 'vitest';
import { parseQuantity, valueLabel, valuesLabel } from '../../src/report/quantity.js';

describe('parseQuantity', () => {
  it.each([
    ['2.5ms', 2.5, 'ms'],
    ['7us', 0.007, 'ms'],
    ['1.5 s', 1500, 'ms'],
    ['600/s', 600, 'req/s'],
    ['2GiB', 2048, 'MiB'],
    ['2h', 7_200_000, 'ms'],
    ['90/m', 1.5, 'req/s'],
    ['7200/h', 2, 'req/s'],
    ['512KiB', 0.5, 'MiB'],
    ['1e3', 1000, ''],
    ['.5', 0.5, ''],
  ])('reads %s', (text, value, unit) => {
    expect(parseQuantity(text)).toEqual({ value, unit });
  });

  it.each(['fifo', '', '10 parsecs', '1ms2', 'ms'])('leaves %j a name', (text) => {
    expect(parseQuantity(text)).toBeNull();
  });
});

describe('labels', () => {
  it('set values as people write them', () => {
    expect(valueLabel('10ms')).toBe('10 ms');
    expect(valueLabel('600/s')).toBe('600/s');
    expect(valueLabel('fifo')).toBe('fifo');
    expect(valuesLabel({ slo: '10ms', 'cluster.gpus': '4' })).toBe('SLO 10 ms, GPUs 4');
  });
});
