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

  it('is the same in a file as with flags, and knows the default', async () => {
    const ofFile = await plan('sweep: { vary: { cluster.gpus.v100: "1,2" } }\n', []);
    const ofFlags = await plan('', ['cluster.gpus.v100=1,2']);
    expect(ofFile.header.vary).toEqual(ofFlags.header.vary);
    expect(ofFile.header.defaults).toEqual({ 'cluster.gpus.v100': '1' });
    expect(ofFile.planned.map(({ cell }) => cell.id)).toEqual(ofFlags.planned.map(({ cell }) => cell.id));
    await expect(plan('sweep: { vary: { cluster.gpus.v10: "1,2" } }\n', [])).rejects.toThrow(
      'no GPUs are of the kind "v10": did you mean "v100"?',
    );
  });
});
