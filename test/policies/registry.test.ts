import { describe, expect, it } from 'vitest';
import { ONE_CLASS } from '../../src/core/classes.js';
import { Cluster } from '../../src/core/cluster.js';
import type { Dispatcher } from '../../src/core/policy.js';
import { RequestTable } from '../../src/core/request.js';
import type { PolicyEntry, PolicyOptions } from '../../src/policies/entry.js';
import { POLICIES } from '../../src/policies/registry.js';
import { models } from '../core/fixtures.js';
import { MS, PolicyHarness } from './policy-harness.js';

function defaultsOf({ options }: PolicyEntry): PolicyOptions {
  return Object.fromEntries(Object.entries(options).map(([name, option]) => [name, option.default]));
}

const CONTEXT = {
  cluster: new Cluster({ models: models(1), gpus: 1, pages: 2 }),
  requests: new RequestTable(),
  dispatch: {} as Dispatcher,
  defaultSloNs: 100 * MS,
  classes: ONE_CLASS,
  hasShares: false,
};

describe('POLICIES', () => {
  it('have names of their own, which are those of the policies that they make', () => {
    const kinds = POLICIES.map(({ kind }) => kind);
    expect(kinds).toEqual([...new Set(kinds)].sort());
    for (const entry of POLICIES) expect(entry.create(CONTEXT, defaultsOf(entry)).name).toBe(entry.kind);
  });

  it('serve requests within shares first if their entry says so', () => {
    for (const entry of POLICIES) {
      const policy = entry.create({ ...CONTEXT, hasShares: true }, defaultsOf(entry));
      expect([entry.kind, policy.sharesFirst ?? false]).toEqual([entry.kind, entry.sharesFirst ?? false]);
    }
  });

  it.each(POLICIES.map((entry) => [entry.kind, entry] as const))(
    '%s serves a request with nothing but its defaults',
    (kind, entry) => {
      const harness = new PolicyHarness({ policy: kind, options: defaultsOf(entry), models: models(1) });
      harness.arrive(0, [0]);
      harness.settle(1, 100);
      expect(harness.answers).toEqual([expect.stringMatching(/^request 0 ok/)]);
    },
  );
});
