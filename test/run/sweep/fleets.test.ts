import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planSweep } from '../../../src/run/sweep/plan-sweep.js';

const FLEETS = `cluster:
  gpus: [{ kind: v100, count: 1 }, { kind: t4, count: 2, speed: 0.5 }]
models: { kind: zoo, varieties: 2 }
workload: { kind: poisson, rate: 10/s, duration: 1s }
`;

const QUESTION = { seeds: undefined, overrides: [], version: '1', required: [] };

function plan(sweep: string, vary: readonly string[]) {
  const file = join(mkdtempSync(join(tmpdir(), 'escapement-')), 'fleets.yaml');
  writeFileSync(file, FLEETS + sweep);
  return planSweep({ ...QUESTION, file, vary });
}

describe('a sweep over the GPUs of kinds', () => {
  it('fails in the combination that has none, and only there', async () => {
    const { planned } = await plan('', ['cluster.gpus.v100=0,1', 'cluster.gpus.t4=0,2']);
    expect(planned.map(({ cell, task }) => [cell.id, task === null])).toEqual([
      ['cluster.gpus.v100=0 cluster.gpus.t4=0 seed=1', true],
      ['cluster.gpus.v100=0 cluster.gpus.t4=2 seed=1', false],
      ['cluster.gpus.v100=1 cluster.gpus.t4=0 seed=1', false],
      ['cluster.gpus.v100=1 cluster.gpus.t4=2 seed=1', false],
    ]);
    await expect(plan('', ['cluster.gpus.t4=0,2', 'cluster.gpus.v100=0'])).rejects.toThrow(
      'needs at least one GPU: the count of every kind is 0',
    );
  });
});
