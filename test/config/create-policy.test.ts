import { describe, expect, it } from 'vitest';
import { guarded, paddingOf } from '../../src/config/create-policy.js';
import type { Policy } from '../../src/core/policy.js';

const PLACE = { file: 'a.yaml', path: 'padding' };

describe('batches are by length', () => {
  const escapement = { kind: 'escapement', options: {} };
  const edf = { kind: 'edf', options: {} };

  it('by default under a policy that can, and otherwise not at all', () => {
    expect(paddingOf({ policy: escapement }, PLACE)).toBe('bucket');
    expect(paddingOf({ policy: edf }, PLACE)).toBe('batch');
    expect(paddingOf({ policy: escapement, padding: 'longest' }, PLACE)).toBe('longest');
    expect(() => paddingOf({ policy: edf, padding: 'bucket' }, PLACE)).toThrow(
      'edf does not batch by length',
    );
  });
});

const NAME = { kind: 'mine', file: 'mine.js' };
/** What a policy may have besides what it must have. */
const OPTIONAL = [
  ...(['offered', 'modelCame', 'modelRetires', 'modelGoes', 'queuedBefore', 'quietUntilNs'] as const),
];

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
