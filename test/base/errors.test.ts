import { describe, expect, it } from 'vitest';
import { EscapementError } from '../../src/base/errors.js';
import { InvariantError, invariant } from '../../src/base/invariant.js';

describe('EscapementError', () => {
  it('says where and what in one line', () => {
    const at = (place: ConstructorParameters<typeof EscapementError>[2]) =>
      new EscapementError('E_TRACE_VALUE', 'not a number', place).message;
    expect(at({})).toBe('not a number');
    expect(at({ file: 'a.csv' })).toBe('a.csv: not a number');
    expect(at({ file: 'a.csv', line: 3 })).toBe('a.csv:3: not a number');
    expect(at({ file: 'a.csv', line: 3, key: 'slo_ns' })).toBe('a.csv:3: slo_ns: not a number');
    expect(at({ key: 'cluster.gpus' })).toBe('cluster.gpus: not a number');
  });

  it('carries its code, and apart from each other what is wrong and where', () => {
    const place = { flag: '--set slo=0', key: 'x' };
    const error = new EscapementError('E_CONFIG_VALUE', 'must be longer', place);
    expect([error.code, error.what, error.place, error.name]).toEqual([
      'E_CONFIG_VALUE',
      'must be longer',
      place,
      'EscapementError',
    ]);
    expect(error.message).toBe('--set slo=0: x: must be longer');
  });
});

describe('invariant', () => {
  it('stops with an InvariantError, which is no operator error', () => {
    expect(() => invariant(true, 'fine')).not.toThrow();
    expect(() => invariant(false, 'pages are free')).toThrow(InvariantError);
    expect(() => invariant(false, 'pages are free')).toThrow('invariant violated: pages are free');
    expect(new InvariantError('x')).not.toBeInstanceOf(EscapementError);
  });
});
