import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Candidate, readCandidate, type Section, writeCandidate } from './candidate.js';
import { drawExperiment } from './draw-experiment.js';
import { shrink } from './shrink.js';

const LARGE: Candidate = {
  tree: {
    seed: 17,
    cluster: { gpus: 12, pages: 40 },
    workload: [
      { kind: 'poisson', rate: '300/s' },
      { kind: 'arrivals', path: 'requests.csv' },
    ],
    policy: { kind: 'edf', maxBatch: 8 },
  },
  files: {
    'requests.csv': `time\n${Array.from({ length: 40 }, (_, i) => `row${i}`).join('\n')}\n`,
    'models.csv': 'x\n1\n',
  },
};

it('leaves what a failure needs, and nothing else', async () => {
  let tries = 0;
  const small = await shrink(LARGE, async ({ tree, files }) => {
    tries++;
    const needed = ['row7', 'row31'].every((row) => files['requests.csv']?.includes(`${row}\n`));
    return (
      needed &&
      ((tree.cluster as Section | undefined)?.gpus as number) >= 3 &&
      JSON.stringify(tree).includes('requests.csv')
    );
  });
  expect(small).toEqual({
    tree: { cluster: { gpus: 3 }, workload: [{ path: 'requests.csv' }] },
    files: { 'requests.csv': 'time\nrow7\nrow31\n' },
  });
  expect(tries).toBeLessThan(200);
});

it('a candidate is read back as it was written', () => {
  const dir = mkdtempSync(join(tmpdir(), 'escapement-swarm-'));
  const drawn = drawExperiment(3);
  writeCandidate(drawn, dir);
  expect(readCandidate(dir)).toEqual(drawn);
});
