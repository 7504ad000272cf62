import { describe, expect, it } from 'vitest';
import { guarded, paddingOf } from '../../src/config/create-policy.js';
import type { Policy } from '../../src/core/policy.js';

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

const NAME = { kind: 'mine', file: 'mine.js' };
/** What a policy may have besides what it must have. */
const OPTIONAL = ['offered', 'modelCame', 'modelRetires', 'modelGoes', 'queuedBefore'] as const;

function policy(more: Partial<Policy> = {}): Policy {
  const nothing = () => {};
  return {
    name: 'mine',
    admit: () => 1,
    timedOut: nothing,
    finished: nothing,
    weightsLost: nothing,
    weightsFound: nothing,
    lanesChanged: nothing,
    schedule: nothing,
    nextWakeNs: () => Number.POSITIVE_INFINITY,
    queued: () => 0,
    ...more,
  };
}

describe('a policy of a plugin', () => {
  it.each(OPTIONAL)('is called by its method %s, as itself', (method) => {
    const calls: unknown[] = [];
    const own: Policy = policy({
      [method](this: Policy, ...given: unknown[]) {
        calls.push(this, ...given);
        return 7;
      },
    });
    expect(guarded(() => own, NAME)[method]?.(3, 4)).toBe(7);
    expect(calls).toEqual([own, 3, 4]);
  });

  it.each(OPTIONAL)('is named when %s fails', (method) => {
    const fails = guarded(() => policy({ [method]: () => wrong() }), NAME);
    expect(() => fails[method]?.(0, 0)).toThrow(`${method} of policy mine failed: Error: wrong`);
  });
});

function wrong(): never {
  throw new Error('wrong');
}
