import { expect, it } from 'vitest';
import { TimeBins } from '../../src/record/bins.js';
import { TunedTally } from '../../src/record/tuned.js';
import { MS } from './fixtures.js';

/** Six bins of 1 ms after a warm-up of 10 ms. */
const BINS = new TimeBins(10 * MS, 16 * MS);

function record(samples: readonly (readonly [atMs: number, valueMs: number])[], startMs = 4) {
  const source = { tuned: { scheduleAheadNs: startMs * MS } };
  const recorder = new TunedTally(source, BINS);
  for (const [atMs, valueMs] of samples) {
    source.tuned.scheduleAheadNs = valueMs * MS;
    recorder.sample(atMs * MS);
  }
  return recorder.series()[0];
}

it('has the value at the end of each bin, held where nothing changed', () => {
  expect(
    record([
      [11.5, 6],
      [11.7, 5],
      [14.2, 8],
    ]),
  ).toEqual({ name: 'scheduleAhead', unit: 'ms', values: [4, 5, 5, 5, 8, 8] });
});

it('begins with what held when the warm-up ended, and leaves out what came after the end', () => {
  const { values } = record([
    [2, 7],
    [9, 3],
    [16.5, 100],
  ]);
  expect(values).toEqual([3, 3, 3, 3, 3, 3]);
});
