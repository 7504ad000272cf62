import { describe, expect, it } from 'vitest';
import { ERRORS, type ErrorCode, EscapementError } from '../../src/core/errors.js';
import { InvariantError, invariant } from '../../src/core/invariant.js';

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

  it('carries its code, its place and its exit status', () => {
    const error = new EscapementError('E_UNKNOWN_MODEL', 'no such model', { line: 4 });
    expect([error.code, error.exitCode, error.place, error.name]).toEqual([
      'E_UNKNOWN_MODEL',
      33,
      { line: 4 },
      'EscapementError',
    ]);
  });

  it('has one exit status for each code, none of which a shell or a bug uses', () => {
    const statuses = (Object.keys(ERRORS) as ErrorCode[]).map((code) => ERRORS[code].exit as number);
    expect(new Set(statuses).size).toBe(statuses.length);
    for (const status of statuses) {
      expect(status).toBeGreaterThan(1);
      expect(status).toBeLessThan(126);
    }
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
