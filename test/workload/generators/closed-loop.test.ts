import { describe, expect, test } from 'vitest';
import { openWorkload, type StreamedSource } from '../../../src/workload/index.js';
import type { SpecOf } from '../../../src/workload/spec.js';
import { modelNames } from '../support.js';

const spec: SpecOf<'closed-loop'> = {
  kind: 'closed-loop',
  clients: 3,
  concurrency: 1,
  thinkNs: 0,
  durationNs: 1_000_000,
};

async function open(changes: Partial<SpecOf<'closed-loop'>> = {}): Promise<StreamedSource> {
  const context = { models: modelNames(2), sloNs: 5, seed: 1 };
  return (await openWorkload({ ...spec, ...changes }, context)).source;
}

/** Plays until nothing is pending; gives [time, user, model] of what was sent. */
function drain(source: StreamedSource): number[][] {
  const sent: number[][] = [];
  while (source.timeNs < Number.POSITIVE_INFINITY) {
    sent.push([source.timeNs, source.user, source.model]);
    source.advance();
  }
  return sent;
}

describe('closed-loop clients', () => {
  test('without think time all begin at the start; client i drives model i mod M', async () => {
    const expected = [
      [0, 0, 0],
      [0, 1, 1],
      [0, 2, 0],
    ];
    expect(drain(await open())).toEqual(expected);
  });

  test('send again one think time after an answer, and not before it', async () => {
    const source = await open({ thinkNs: 10_000 });
    const first = drain(source);
    expect(first.every(([timeNs]) => timeNs < 10_000)).toBe(true);
    expect(new Set(first.map(([timeNs]) => timeNs)).size).toBe(3);
    source.answered?.(1, 20_000);
    source.answered?.(0, 25_000);
    expect(drain(source)).toEqual([
      [30_000, 1, 1],
      [35_000, 0, 0],
    ]);
  });

  test('keep as many requests outstanding as they may', async () => {
    const source = await open({ clients: 2, concurrency: 3 });
    const users = drain(source).map(([, user]) => user);
    expect(users.filter((user) => user === 0)).toHaveLength(3);
    expect(users).toHaveLength(6);
    source.answered?.(1, 10);
    expect(drain(source)).toEqual([[1010, 1, 1]]);
  });

  test('without think time pause for 1 µs, so that a request refused at once does not stop the clock', async () => {
    const source = await open({ clients: 1 });
    const { timeNs } = source;
    for (let sent = 1; sent <= 3; sent++) {
      source.advance();
      source.answered?.(0, timeNs + (sent - 1) * 1000);
      expect(source.timeNs).toBe(timeNs + sent * 1000);
    }
  });

  test('stop at the end of the duration', async () => {
    const source = await open();
    drain(source);
    source.answered?.(0, 998_999);
    source.answered?.(1, 999_000);
    expect(drain(source)).toEqual([[999_999, 0, 0]]);
  });

  test('drive models by popularity when asked to, each client always the same', async () => {
    const source = await open({ clients: 3000, popularity: { kind: 'zipf', s: 2 } });
    const modelOf = new Map(drain(source).map(([, user, model]) => [user, model]));
    const first = [...modelOf.values()].filter((model) => model === 0).length;
    expect(first / 3000).toBeCloseTo(0.8, 1);
    source.answered?.(7, 10);
    expect(source.model).toBe(modelOf.get(7));
  });
});
