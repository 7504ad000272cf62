import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mergeSources, openWorkload } from '../../src/workload/index.js';
import { BlockSource, collect, modelNames } from './support.js';

/** Plays given times; starves after every `block` arrivals as a file would. */
class ListSource extends BlockSource {
  constructor(
    private readonly times: readonly number[],
    block = Number.POSITIVE_INFINITY,
    users = 1,
  ) {
    super(1, users, block);
    this.show();
  }

  protected override show(): void {
    this.timeNs = this.times[this.next] ?? Number.POSITIVE_INFINITY;
    this.user = this.next % this.users;
  }
}

const sortedTimes = fc
  .array(fc.integer({ min: 0, max: 50 }), { maxLength: 30 })
  .map((times) => times.sort((a, b) => a - b));

describe('several sections as one stream', () => {
  test('every arrival once, sorted by time, ties by section', async () => {
    const lists = fc.array(sortedTimes, { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(lists, fc.integer({ min: 1, max: 5 }), async (times, block) => {
        const merged = mergeSources(
          times.map((list, i) => new ListSource(list, i % 2 === 0 ? block : undefined)),
        );
        const seen = (await collect(merged)).map(({ timeNs, user }) => [timeNs, user]);
        const expected = times.flatMap((list, section) => list.map((timeNs) => [timeNs, section]));
        expect(seen).toEqual(expected.sort((a, b) => a[0] - b[0] || a[1] - b[1]));
      }),
    );
  });

  test('a section that must read on holds back the others', async () => {
    const merged = mergeSources([new ListSource([1, 2], 1), new ListSource([5])]);
    expect(merged.timeNs).toBe(1);
    merged.advance();
    expect(merged.starved).toBe(true);
    expect(merged.timeNs).toBe(1);
    await merged.refill();
    expect([merged.starved, merged.timeNs, merged.section]).toEqual([false, 2, 0]);
  });

  test('users are numbered through, and the section is known', async () => {
    const merged = mergeSources([
      new ListSource([1, 3], undefined, 2),
      new ListSource([2, 4, 6], undefined, 3),
    ]);
    const seen: number[][] = [];
    while (merged.timeNs < Number.POSITIVE_INFINITY) {
      seen.push([merged.section, merged.user]);
      merged.advance();
    }
    expect(seen).toEqual([
      [0, 0],
      [1, 2],
      [0, 1],
      [1, 3],
      [1, 4],
    ]);
    expect(merged.users).toBe(5);
  });

  test('answers reach the clients of their section only', async () => {
    const context = { models: modelNames(1), sloNs: 1, seed: 1 };
    const clients = {
      kind: 'closed-loop',
      clients: 1,
      concurrency: 1,
      thinkNs: 10_000,
      durationNs: 1_000_000,
    } as const;
    const [first, second] = await Promise.all([
      openWorkload(clients, context, 'a'),
      openWorkload(clients, context, 'b'),
    ]);
    const merged = mergeSources([new ListSource([500_000]), first.source, second.source]);
    merged.advance();
    merged.advance();
    expect(merged.timeNs).toBe(500_000);
    merged.answered?.(0, 20_000);
    expect(merged.timeNs).toBe(500_000);
    merged.answered?.(2, 100_000);
    expect([merged.timeNs, merged.section, merged.user]).toEqual([110_000, 2, 2]);
  });
});
