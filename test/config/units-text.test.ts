import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  expandValues,
  formatDuration,
  parseBandwidth,
  parseBytes,
  parseCount,
  parseDuration,
  parseRate,
  parseShare,
} from '../../src/config/units-text.js';
import { failure } from './failure.js';

describe('reading quantities', () => {
  it.each([
    ['10ms', 10_000_000],
    ['1.5s', 1_500_000_000],
    ['2m', 120_000_000_000],
    ['1.000001ms', 1_000_001],
    [0, 0],
    ['0', 0],
  ])('duration %s is %d ns', (text, ns) => expect(parseDuration(text)).toBe(ns));

  it.each([
    ['600/s', 600],
    ['36k/m', 600],
    ['0/s', 0],
  ])('rate %s is %d/s', (text, perS) => expect(parseRate(text)).toBe(perS));

  it.each([
    ['16MiB', 16 * 1024 * 1024],
    ['12.2GB', 12_200_000_000],
    ['100B', 100],
  ])('size %s is %d bytes', (text, bytes) => expect(parseBytes(text)).toBe(bytes));

  it('reads bandwidths, counts and shares', () => {
    expect(parseBandwidth('12.2GB/s')).toBe(12.2e9);
    expect(parseBandwidth('unlimited')).toBe(Number.POSITIVE_INFINITY);
    expect(parseCount('25.6M')).toBe(25_600_000);
    expect(parseCount(7)).toBe(7);
    expect(parseShare('5%')).toBe(0.05);
    expect(parseShare(0.05)).toBe(0.05);
  });

  it.each([
    [
      () => parseDuration(10),
      'E_CONFIG_UNIT',
      '10 has no unit: write a duration such as 10ms (units: ns, us, ms, s, m, h)',
    ],
    [
      () => parseDuration('10'),
      'E_CONFIG_UNIT',
      '10 has no unit: write a duration such as 10ms (units: ns, us, ms, s, m, h)',
    ],
    [
      () => parseDuration('3 parsecs'),
      'E_CONFIG_UNIT',
      '3 parsecs has the unknown unit parsecs: write a duration such as 10ms (units: ns, us, ms, s, m, h)',
    ],
    [() => parseDuration('soon'), 'E_CONFIG_VALUE', 'must be a duration such as 10ms, found soon'],
    [() => parseDuration('-1ms'), 'E_CONFIG_VALUE', 'must not be negative, found -1ms'],
    [() => parseDuration('0.1ns'), 'E_CONFIG_VALUE', '0.1ns is shorter than 1ns'],
    [() => parseDuration('1000000h'), 'E_CONFIG_VALUE', '1000000h is longer than 104 days'],
    [() => parseBytes('16 MIB'), 'E_CONFIG_UNIT', /unknown unit MIB.*KiB, MiB, GiB/],
    [() => parseRate('600'), 'E_CONFIG_UNIT', /600 has no unit: write a rate such as 600\/s/],
    [() => parseCount('5 constructor'), 'E_CONFIG_UNIT', /unknown unit constructor/],
  ])('refuses %s', (read, code, message) => {
    const error = failure(read);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });
});

describe('formatting', () => {
  it.each([
    [0, '0s'],
    [10_000_000, '10ms'],
    [1_500_000, '1.5ms'],
    [1_000_001, '1.000001ms'],
    [90_000_000_000, '90s'],
    [120_000_000_000, '2m'],
    [3_600_000_000_000, '1h'],
  ])('%d ns is %s', (ns, text) => expect(formatDuration(ns)).toBe(text));

  it('writes every duration so that it reads back the same', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 13 }), (ns) => {
        expect(parseDuration(formatDuration(ns))).toBe(ns);
      }),
    );
  });
});

describe('expandValues', () => {
  it.each([
    ['10ms', ['10ms']],
    ['1ms:4ms:1ms', ['1ms', '2ms', '3ms', '4ms']],
    ['0.1:0.5:0.1', ['0.1', '0.2', '0.3', '0.4', '0.5']],
    ['0:2ms:1ms', ['0ms', '1ms', '2ms']],
    ['1ms,2ms:6ms:2ms', ['1ms', '2ms', '4ms', '6ms']],
    ['100/s:300/s:100/s', ['100/s', '200/s', '300/s']],
    ['clockwork,fifo', ['clockwork', 'fifo']],
    ['0:60,60:120', ['0:60', '60:120']],
  ])('%s', (text, values) => expect(expandValues(text)).toEqual(values));

  it('hits the end exactly, whatever the step', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 50 }), (step, times) => {
        const values = expandValues(`0:${(step * times) / 100}:${step / 100}`);
        expect(values).toHaveLength(times + 1);
        expect(Number(values[times])).toBe((step * times) / 100);
      }),
    );
  });

  it.each([
    ['10ms,', 'E_CONFIG_VALUE', /empty value/],
    ['0:50ms', 'E_CONFIG_VALUE', /0:50ms has no step/],
    ['1ms:5ms:0ms', 'E_CONFIG_VALUE', /not a range/],
    ['1ms:x:1ms', 'E_CONFIG_VALUE', /not a range/],
    ['1:5MiB:1kB', 'E_CONFIG_UNIT', /mixes units/],
    ['500us:1.5ms:500us', 'E_CONFIG_UNIT', /mixes units/],
    ['0:1000000:1', 'E_CONFIG_VALUE', /more than 10000 values/],
  ])('refuses %s', (text, code, message) => {
    const error = failure(() => expandValues(text));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });
});
