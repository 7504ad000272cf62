import { expect, it } from 'vitest';
import { POLICIES } from '../../src/policies/registry.js';
import type { Run, RunChoice } from './child.js';
import { benchPolicies, type PolicyLine } from './policies.js';

it('compares policies within a round, whatever the rounds took', () => {
  const seen: RunChoice[] = [];
  const lines: PolicyLine[] = [];
  const run = (choice: RunChoice): Run => {
    // The machine is half as fast in the second round; fifo takes a quarter of the time of all others.
    const isSecondRound = Math.floor(seen.length / POLICIES.length) % 3 === 1;
    const isFifo = choice.overrides.some((text) => text.includes('fifo'));
    seen.push(choice);
    const processedRps = (isFifo ? 4e6 : 1e6) / (isSecondRound ? 2 : 1);
    return {
      requests: 1,
      events: 2,
      seconds: 1,
      cpuSeconds: 1,
      processedRps,
      peakRssBytes: 1,
      digest: 'd',
      attainment: 1,
    };
  };
  benchPolicies(3, '', (line) => lines.push(line), run);

  expect(seen).toHaveLength(2 * 3 * POLICIES.length);
  expect(seen[0].overrides).toEqual(['workload.duration=1000s']);
  const of = (name: string) => lines.filter(({ policy }) => policy === name);
  for (const { kind } of POLICIES) expect(of(kind).map((line) => line.case)).toHaveLength(2);
  expect(of('clockwork')[0]).toMatchObject({ runs: 3, processedRps: 1e6, usPerRequest: 1, ratio: 1 });
  expect(of('fifo')[0]).toMatchObject({ processedRps: 4e6, usPerRequest: 0.25, ratio: 0.25 });
});

it('runs only the cases asked for', () => {
  const names = new Set<string>();
  const run = ({ name }: RunChoice): Run => {
    names.add(name);
    return {
      requests: 1,
      events: 2,
      seconds: 1,
      cpuSeconds: 1,
      processedRps: 1,
      peakRssBytes: 1,
      digest: 'd',
      attainment: 1,
    };
  };
  benchPolicies(1, '60-models', () => {}, run);
  expect([...names]).toEqual(['60-models-4-gpus']);
});
