import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dealGpus } from '../../../src/run/cells/deal-gpus.js';
import { failure } from '../../config/failure.js';

const workerOf = (gpu: number, gpus: number, workers: number) => Math.floor((gpu * workers) / gpus);

test('every GPU is in one cell, no worker is in two where there are enough, and sizes are even', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), fc.nat(), fc.nat(), (gpus, a, b) => {
      const workers = 1 + (a % gpus);
      const cells = 1 + (b % gpus);
      const blocks = dealGpus({ gpus, workers }, cells);
      expect(blocks[0]![0]).toBe(0);
      expect(blocks.at(-1)![1]).toBe(gpus);
      for (const [i, [from, to]] of blocks.entries()) {
        expect(to).toBeGreaterThan(from);
        if (i > 0) expect(from).toBe(blocks[i - 1]![1]);
        if (i > 0 && workers >= cells) {
          expect(workerOf(from, gpus, workers)).not.toBe(workerOf(from - 1, gpus, workers));
        }
      }
      const units = blocks.map(([from, to]) =>
        workers < cells ? to - from : workerOf(to - 1, gpus, workers) - workerOf(from, gpus, workers),
      );
      expect(Math.max(...units) - Math.min(...units)).toBeLessThanOrEqual(1);
    }),
  );
});

test('more cells than GPUs are refused', () => {
  expect(failure(() => dealGpus({ gpus: 3, workers: 1 }, 4)).message).toContain(
    '--cells 4: the cluster has only 3 GPUs',
  );
});
