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
  it('serves in the order of arrival, requests of a model that follow each other together', () => {
    const line = queue();
    for (const [slot, model] of [0, 0, 1, 0].entries()) offer(line, slot, model);
    expect(line.backlogNs).toBe((5 + 3 + 3) * MS);
    expect([take(line, 0), take(line, 5), take(line, 8), take(line, 11)]).toEqual([[0, 1], [2], [3], []]);
    expect(line.backlogNs).toBe(0);
  });

  it('a batch is bounded by maxBatch and by the largest size', () => {
    for (const [maxBatch, first] of [
      [1, 1],
      [3, 2],
      [8, 4],
    ]) {
      const line = queue(maxBatch);
      for (let slot = 0; slot < 6; slot++) offer(line, slot, 0);
      expect(take(line, 0)).toHaveLength(first);
    }
  });

  it('refuses what would end after its deadline behind all that waits', () => {
    const line = queue();
    offer(line, 0, 0);
    expect(offer(line, 1, 1, 5.999)).toBe(false);
    expect(offer(line, 2, 1, 6)).toBe(true);
    expect(line.offer(3, 2, 10 * MS, 2 * MS)).toBe(false);
  });

  it('a request joins only where no request is late by it, and else queues behind', () => {
    const line = queue();
    offer(line, 0, 0, 4);
    expect(offer(line, 1, 0, 6)).toBe(true);
    expect([take(line, 0), take(line, 3)]).toEqual([[0], [1]]);
  });

  it('a request may be in time alone where a batch of the next size is not', () => {
    const line = queue();
    offer(line, 0, 0, 6);
    offer(line, 1, 0, 6);
    // Three run as four, in 8 ms: as late as alone behind the two.
    expect(offer(line, 2, 0, 8)).toBe(true);
    expect([take(line, 0), take(line, 5)]).toEqual([[0, 1], [2]]);
  });

  it('splits a batch that began too late for all of it, and lets go of what is lost', () => {
    const line = queue();
    for (let slot = 0; slot < 4; slot++) offer(line, slot, 0, 9);
    expect(take(line, 3)).toEqual([0, 1]);
    expect(line.backlogNs).toBe(5 * MS);
    expect(take(line, 6)).toEqual([2]);
    expect(take(line, 6.001)).toEqual([]);
    expect(line.length).toBe(0);
  });

  it('a request that goes from the middle takes its time along', () => {
    const line = queue();
    for (const [slot, model] of [0, 1, 1, 2].entries()) offer(line, slot, model);
    expect(line.backlogNs).toBe((3 + 5 + 3) * MS);
    expect([line.remove(1), line.remove(1)]).toEqual([true, false]);
    expect(line.backlogNs).toBe(9 * MS);
    expect([line.has(1), line.has(0)]).toEqual([true, true]);
    expect([take(line, 0), take(line, 3), take(line, 6)]).toEqual([[0], [2], [3]]);
  });

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
