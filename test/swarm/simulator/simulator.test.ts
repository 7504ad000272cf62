import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readCandidate } from './candidate.js';
import { drawExperiment, sizeOf } from './draw-experiment.js';
import { judge } from './judge.js';

/** `npm run swarm -- --simulator` tries as many others as it is asked to. */
const SEEDS = 50;
const REGRESSIONS = fileURLToPath(new URL('regressions/', import.meta.url));

describe('random experiments in the simulator', () => {
  const seeds = Array.from({ length: 2 * SEEDS }, (_, seed) => seed);
  const short = seeds.filter((seed) => sizeOf(seed) === 'short').slice(0, SEEDS);

  it.each(short)('seed %d', async (seed) => {
    expect(
      (await judge(drawExperiment(seed), scratch())).kind,
      `npm run swarm -- --simulator --seed ${seed}`,
    ).not.toBe('failed');
  });

  it('draw all that an experiment can say of its GPUs and of who sends', () => {
    const trees = Array.from({ length: 100 }, (_, seed) => JSON.stringify(drawExperiment(seed).tree));
    for (const key of [
      'classes',
      'tenants',
      'scaler',
      'class',
      'tenant',
      'length',
      'padding',
      'min',
      'start',
      'speed',
      'pipelines',
      'probability',
    ])
      expect(trees.filter((tree) => tree.includes(`"${key}":`)).length, key).toBeGreaterThan(2);
  });

  it('are the same again from the same seed', () => {
    expect(drawExperiment(1)).toEqual(drawExperiment(1));
    expect(drawExperiment(1)).not.toEqual(drawExperiment(2));
  });
});

describe('experiments that once failed', () => {
  it.each(readdirSync(REGRESSIONS))('%s', async (name) => {
    expect(await judge(readCandidate(join(REGRESSIONS, name)), scratch())).toMatchObject({
      kind: 'passed',
    });
  });
});

function scratch(): string {
  return mkdtempSync(join(tmpdir(), 'escapement-swarm-'));
}
