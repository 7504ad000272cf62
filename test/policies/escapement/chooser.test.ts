import seedrandom from 'seedrandom';
import { describe, expect, it } from 'vitest';
import type { ModelSpec } from '../../../src/core/model.js';
import type { RequestTable } from '../../../src/core/request.js';
import { Chooser } from '../../../src/policies/escapement/chooser.js';
import { models } from '../../core/fixtures.js';
import { MS } from '../policy-harness.js';
import { Books } from './books.js';

/** Like models that are warm on one GPU: 3, 5 and 8 ms at batch 1, 2 and 4. */
function chooserOf(specs: readonly ModelSpec[] = models(2), gpus = 1) {
  const books = new Books(specs, { gpus }).warm(
    0,
    specs.map((_, m) => m),
  );
  const favor = new Float64Array(specs.length);
  const chooser = new Chooser(books.cluster, books.requests, books.durations, books.waiting, favor);
  /** What a lane that is free at `startMs` is given: model, batch size, requests from … to. */
  const choice = (startMs = 0, afterMs = 0, gpu = 0) => {
    if (!chooser.choose(gpu, startMs * MS, afterMs * MS)) return null;
    const { model, batchIndex, from, count } = chooser;
    return { model, size: specs[model].batchSizes[batchIndex], from, to: from + count };
  };
  return { books, favor, choice };
}

describe('which batch is run', () => {
  it('gives slack more weight where models differ in cost', () => {
    const dear = models(1, { execNs: [6 * MS, 10 * MS, 16 * MS] });
    const unlike = chooserOf([...models(1), ...dear]);
    // Density speaks for the cheap one by ln 2 = 0.69; the dear one has 7 ms less slack, of W = 3 + 6 + 6 ms.
    unlike.books.wait(0, 14);
    unlike.books.wait(1, 10);
    expect(unlike.choice()).toMatchObject({ model: 1 });
    const like = chooserOf();
    for (let i = 0; i < 60; i++) like.books.durations.measured(0, 1, 0, 6 * MS, 1);
    like.books.wait(0, 14);
    like.books.wait(1, 10);
    expect(like.choice()).toMatchObject({ model: 0 });
  });
});

describe('among many models', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('is the best of all there are: seed %i', (seed) => {
    const random = seedrandom(String(seed));
    const below = (limit: number) => Math.floor(random() * limit);
    const { books, favor, choice } = chooserOf(models(12));
    for (let round = 0; round < 100; round++) {
      // Sizes are measured for themselves, so that a larger one may be thought to be faster.
      const measured = [0, below(12), below(3), (1 + below(16)) * MS, 1] as const;
      for (let i = 0; i < 12; i++) books.durations.measured(...measured);
      favor[below(12)] = random() < 0.5 ? 0 : random();
      const sloMs = random() < 0.9 ? 100 : 300;
      const deadlinesMs = Array.from({ length: 1 + below(6) }, () => 2 + round + below(30));
      books.waitWith(sloMs, below(12), ...deadlinesMs);
      const chosen = choice(round, 1);
      const [best, ...others] = scoresOf(books, favor, round * MS, MS);
      expect(chosen).toEqual(best?.batch ?? null);
      expect(others.every(({ score }) => score <= (best?.score ?? 0))).toBe(true);
      if (chosen !== null) books.waiting.take(chosen.model, chosen.from, chosen.to - chosen.from, BATCH);
    }
  });
});

const BATCH = new Int32Array(8);

/** Every batch that could be run, by the formula, the best first: W is what waits, and half of 8 ms. */
function scoresOf(
  { waiting, durations, requests }: Books,
  favor: Float64Array,
  startNs: number,
  afterNs: number,
) {
  const queues = Array.from(favor, (_, model) => {
    const queue = waiting.queue(model, 0);
    return Array.from({ length: queue.length }, (_, i) => requestAt(requests, queue.slotAt(i)));
  });
  const timeNs = (model: number, size: number) => durations.execNs[3 * model + Math.log2(size)] as number;
  const sizeFor = (count: number) => (count > 2 ? 4 : count);
  const perSlack = 1 / (waiting.backlogNs + 4 * MS);
  const batches = queues.flatMap((queue, model) =>
    [1, 2, 4].flatMap((size) => {
      const endNs = startNs + timeNs(model, size) + afterNs;
      // What is late in a smaller batch is left out of a larger one, too.
      const lastEndNs = Math.max(
        ...[1, 2, 4].flatMap((each) => (each <= size ? startNs + timeNs(model, each) + afterNs : [])),
      );
      const inTime = queue.filter(({ deadlineNs }) => deadlineNs >= lastEndNs);
      if (inTime.length === 0 || size > sizeFor(Math.min(4, inTime.length))) return [];
      const [first, ...rest] = inTime.slice(0, size) as [Waits, ...Waits[]];
      const worth = rest.reduce(
        (sum, { sloNs }) => sum + Math.exp(-0.2 * Math.max(0, sloNs - first.sloNs) * perSlack),
        1,
      );
      const density = Math.log(worth) - Math.log(timeNs(model, size));
      const score = density - (first.deadlineNs - endNs) * perSlack + (favor[model] as number);
      const from = queue.length - inTime.length;
      return [{ score, batch: { model, size, from, to: from + 1 + rest.length } }];
    }),
  );
  return batches.sort((a, b) => b.score - a.score);
}

interface Waits {
  readonly deadlineNs: number;
  readonly sloNs: number;
}

function requestAt({ arrivalNs, sloNs }: RequestTable, slot: number): Waits {
  return { deadlineNs: (arrivalNs[slot] as number) + (sloNs[slot] as number), sloNs: sloNs[slot] as number };
}

describe('of inputs of two lengths', () => {
  /** Short: 1, 1.5 and 2 ms at batch 1, 2 and 4; long: 10, 16 and 30 ms. */
  const lengths = {
    lengths: [16, 256],
    execNs: [10 * MS, 16 * MS, 30 * MS],
    execNsByLength: [
      [1 * MS, 1.5 * MS, 2 * MS],
      [10 * MS, 16 * MS, 30 * MS],
    ],
  };
  const SHORT = 0;
  const LONG = 1;

  function ofLengths() {
    const { books, choice } = chooserOf([{ ...models(1)[0]!, ...lengths }]);
    const chooser = new Chooser(
      books.cluster,
      books.requests,
      books.durations,
      books.waiting,
      new Float64Array(1),
    );
    /** The slots that the batch of a lane that is free at once gets. */
    const batch = () => {
      if (!chooser.choose(0, 0, 0)) return null;
      const { bucket, batchIndex, count } = chooser;
      const slots = new Int32Array(8);
      const first = chooser.take(slots, 0) / MS;
      return { bucket, batchIndex, first, slots: [...slots.subarray(0, count)] };
    };
    return { books, choice, batch };
  }

  it('is one of near lengths: short ones do not wait for a long one', () => {
    const { books, batch } = ofLengths();
    books.waitIn(LONG, 0, 90, 90);
    const short = books.waitIn(SHORT, 0, 60, 60, 60, 60);
    expect(batch()).toEqual({ bucket: SHORT, batchIndex: 2, first: 60, slots: short });
  });

  it('takes a short one along where a long batch has room', () => {
    const { books, batch } = ofLengths();
    const long = books.waitIn(LONG, 0, 31, 31, 31);
    const [soon] = books.waitIn(SHORT, 0, 90);
    expect(batch()).toEqual({ bucket: LONG, batchIndex: 2, first: 31, slots: [...long, soon] });
    expect(books.waiting.count[0]).toBe(0);
  });

  it('does not grow for short ones: that costs more than they do among themselves', () => {
    const { books, batch } = ofLengths();
    const long = books.waitIn(LONG, 0, 11);
    books.waitIn(SHORT, 0, 500, 500, 500);
    expect(batch()).toEqual({ bucket: LONG, batchIndex: 0, first: 11, slots: long });
  });

  it('takes along none that would be late', () => {
    const { books, batch } = ofLengths();
    const long = books.waitIn(LONG, 0, 31, 31, 31);
    books.waitIn(SHORT, 0, 0.5);
    const [inTime] = books.waitIn(SHORT, 0, 400);
    expect(batch()?.slots).toEqual([...long, inTime]);
  });
});
