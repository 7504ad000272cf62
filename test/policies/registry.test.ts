import { describe, expect, it } from 'vitest';
import { POLICIES } from '../../src/policies/registry.js';
import { models } from '../core/fixtures.js';
import { PolicyHarness } from './policy-harness.js';

describe('POLICIES', () => {
  it('have names of their own, which are those of the policies that they make', () => {
    expect(POLICIES.map(({ kind }) => kind)).toEqual(['clockwork', 'fifo']);
  });

  it.each(POLICIES.map((entry) => [entry.kind, entry] as const))(
    '%s serves a request with nothing but its defaults',
    (kind, { options }) => {
      const defaults = Object.entries(options).map(([name, option]) => [name, option.default]);
      const harness = new PolicyHarness({
        policy: kind,
        options: Object.fromEntries(defaults),
        models: models(1),
      });
      harness.arrive(0, [0]);
      harness.settle(1, 20);
      expect(harness.answers).toEqual(['request 0 ok at 13']);
    },
  );

  it('describe every option, with a default that is allowed', () => {
    for (const { options } of POLICIES) {
      for (const option of Object.values(options)) {
        expect(option.describe).not.toBe('');
        if (option.default !== undefined) expect(option.default).toBeGreaterThanOrEqual(option.min);
      }
    }
  });
});
