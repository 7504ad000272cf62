import { describe, expect, it } from 'vitest';
import { paddingOf } from '../../src/config/create-policy.js';

const PLACE = { file: 'a.yaml', path: 'padding' };
const TWO = { list: ['a', 'b'] };

describe('batches are by length', () => {
  const escapement = { kind: 'escapement', options: {} };

  it('under a policy that can, unless something else is worth more', () => {
    expect(paddingOf({ policy: escapement }, [], PLACE)).toBe('bucket');
    expect(paddingOf({ policy: escapement, classes: { gold: {} } }, [], PLACE)).toBe('batch');
    expect(paddingOf({ policy: escapement, tenants: { list: ['a'] } }, [], PLACE)).toBe('bucket');
    expect(paddingOf({ policy: escapement, tenants: TWO }, [], PLACE)).toBe('batch');
    expect(paddingOf({ policy: escapement, tenants: TWO }, [{ lengths: [] }], PLACE)).toBe('bucket');
    expect(
      paddingOf({ policy: escapement, tenants: TWO, classes: { gold: {} } }, [{ lengths: [] }], PLACE),
    ).toBe('batch');
    expect(paddingOf({ policy: { kind: 'clockwork', options: {} } }, [], PLACE)).toBe('batch');
  });

  it('where that is asked for, but not of requests with classes, or by other policies', () => {
    const padding = 'bucket';
    expect(paddingOf({ policy: escapement, padding, tenants: TWO }, [], PLACE)).toBe('bucket');
    expect(() => paddingOf({ policy: escapement, padding, classes: { gold: {} } }, [], PLACE)).toThrow(
      'requests with classes are batched by weight, not by length: choose batch or longest, or leave out classes',
    );
    expect(() => paddingOf({ policy: { kind: 'edf', options: {} }, padding }, [], PLACE)).toThrow(
      'edf does not batch by length',
    );
  });
});
