import { expect, it, vi } from 'vitest';
import type { PolicyContext } from '../../src/core/policy.js';
import { fifoEntry } from '../../src/policies/fifo/entry.js';
import { runResultSchema } from '../../src/record/schema.js';
import { simulate } from '../../src/run/simulated.js';
import { BASE, load } from './experiment-files.js';

/** Policies that an experiment may name here: fifo, and one that sets a value at each admission. */
vi.mock('../../src/policies/registry.js', async (original) => {
  const { POLICIES } = await original<typeof import('../../src/policies/registry.js')>();
  const create = (context: PolicyContext) => {
    const policy = fifoEntry.create(context, { maxBatch: 8, maxDelay: 1 });
    const tuned = { scheduleAheadNs: 5_000_000 };
    const admit = policy.admit.bind(policy);
    return Object.assign(policy, {
      tuned,
      admit: (slot: number, nowNs: number) => {
        tuned.scheduleAheadNs = nowNs < 1e9 ? 2_000_000 : 3_000_000;
        return admit(slot, nowNs);
      },
    });
  };
  return { POLICIES: [...POLICIES, { kind: 'stub', summary: '', options: {}, create }] };
});

it('shows over time what the policy of a run tunes by itself', async () => {
  const experiment = await load(BASE.replace('clockwork', 'stub'), ['workload.duration=3s']);
  const result = await simulate(experiment);
  expect(runResultSchema.parse(JSON.parse(JSON.stringify(result))).tuned).toEqual(result.tuned);
  const [{ name, unit, values }] = result.tuned!;
  expect([name, unit]).toEqual(['scheduleAhead', 'ms']);
  // Up to the end of the workload, while answers may come later.
  expect(values).toHaveLength(3);
  expect(result.windows.length).toBeGreaterThanOrEqual(3);
  // It starts at 5 ms, and changes before the first result and at one second.
  expect(values).toEqual([2, 3, 3]);
});

it('says nothing of policies that tune nothing', async () => {
  const experiment = await load(BASE.replace('clockwork', 'fifo'), ['workload.duration=1s']);
  expect(await simulate(experiment)).not.toHaveProperty('tuned');
});
