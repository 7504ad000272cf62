import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Cluster } from '../../../src/core/cluster.js';
import { GpuQueue } from '../../../src/policies/alpaserve-sr/gpu-queue.js';
import { usableSizes } from '../../../src/policies/common/usable-sizes.js';
import { models } from '../../core/fixtures.js';
import { MS } from '../policy-harness.js';

/** INFERs take 3, 5 and 8 ms at batch 1, 2 and 4. */
function queue(maxBatch = 4): GpuQueue {
  const cluster = new Cluster({ models: models(3), gpus: 1, pages: 6 });
  return new GpuQueue(cluster, 0, usableSizes(cluster.models, maxBatch));
}

const LATE = 1000;
const into = new Int32Array(4);

function take(line: GpuQueue, nowMs: number): number[] {
  return [...into.subarray(0, line.take(nowMs * MS, into))];
}

/** Offers a request with its deadline in ms to a GPU that is free at 0. */
function offer(line: GpuQueue, slot: number, model: number, deadlineMs = LATE): boolean {
  return line.offer(slot, model, deadlineMs * MS, 0);
}

describe('GpuQueue', () => {
  it('whatever happens, everyone is taken once, in order, and the backlog is that of the batches', () => {
    const operation = fc.record({
      kind: fc.constantFrom('offer', 'offer', 'offer', 'offer', 'take', 'remove', 'shift'),
      model: fc.nat(2),
      deadlineMs: fc.integer({ min: 3, max: 60 }),
      which: fc.nat(20),
    });
    // fast-check prints the seed of what fails.
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 150 }), (operations) => {
        const line = queue();
        let waiting: number[] = [];
        for (const [slot, { kind, model, deadlineMs, which }] of operations.entries()) {
          if (kind === 'offer') {
            if (offer(line, slot, model, deadlineMs)) waiting.push(slot);
          } else if (kind === 'take') {
            const taken = take(line, 0);
            expect(taken).toEqual(waiting.slice(0, taken.length));
            waiting = waiting.slice(taken.length);
          } else if (kind === 'remove') {
            const gone = waiting[which] ?? -1;
            expect(line.remove(gone)).toBe(gone >= 0);
            waiting = waiting.filter((one) => one !== gone);
          } else if (waiting.length > 0) expect(line.shift()).toBe(waiting.shift());
          expect(line.length).toBe(waiting.length);
        }
        let nowMs = 0;
        const backlogNs = line.backlogNs;
        for (let taken = take(line, 0); taken.length > 0; taken = take(line, 0)) {
          nowMs += [0, 3, 5, 8, 8][taken.length];
          expect(taken).toEqual(waiting.splice(0, taken.length));
        }
        expect([waiting, nowMs * MS]).toEqual([[], backlogNs]);
      }),
      { numRuns: 300 },
    );
  });
});
