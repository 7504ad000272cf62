import { expect, it } from 'vitest';
import type { Experiment } from '../../../src/config/experiment.js';
import type { Action } from '../../../src/core/action.js';
import {
  GPU_DRAINING,
  GPU_OFF,
  GPU_ON,
  GPU_STARTING,
  type GpuState,
} from '../../../src/core/fleet-observer.js';
import { FleetBooks } from './fleet-books.js';

const EXPERIMENT = {
  cluster: { kinds: [{ gpus: 2, on: 1, scaled: { min: 1, max: 2, startNs: 5 } }], failures: [] },
  scaler: { intervalNs: 10 },
} as unknown as Experiment;
const counts = (on: number, starting = 0, draining = 0) => [{ on, starting, draining }];

/** One GPU is on; the other is ordered, comes and goes again. Returns what a change of that finds. */
function found(change: (books: FleetBooks) => void): string | undefined {
  const books = new FleetBooks(EXPERIMENT, () => {});
  const set = (gpu: number, state: GpuState, nowNs: number) => books.gpuChanged(gpu, state, nowNs);
  set(0, GPU_ON, 0);
  books.scaled({ gpus: [2], reason: '' }, counts(1), 10);
  set(1, GPU_STARTING, 10);
  set(1, GPU_ON, 15);
  books.scaled({ gpus: [1], reason: '' }, counts(2), 20);
  set(1, GPU_DRAINING, 20);
  set(1, GPU_OFF, 22);
  change(books);
  return books.problem?.check;
}

const action = { gpu: 1 } as Action;

it('finds nothing where GPUs come and go as they are ordered', () => {
  expect(found((books) => books.scaled({ gpus: [1], reason: '' }, counts(1), 30))).toBeUndefined();
});

it('finds GPUs that come or go out of order, or too early', () => {
  const order = 'a GPU is ordered, comes, drains and goes';
  expect(found((books) => books.gpuChanged(1, GPU_ON, 30))).toBe(order);
  expect(found((books) => books.gpuChanged(0, GPU_OFF, 30))).toBe(order);
  const early = (books: FleetBooks) => {
    books.gpuChanged(1, GPU_STARTING, 30);
    books.gpuChanged(1, GPU_ON, 34);
  };
  expect(found(early)).toBe('a GPU comes when it has started');
  const owes = (books: FleetBooks) => {
    expect(books.decided({ gpu: 0 } as Action)).toBe('');
    books.gpuChanged(0, GPU_DRAINING, 30);
    books.gpuChanged(0, GPU_OFF, 31);
  };
  expect(found(owes)).toBe('a GPU that goes has done what it was sent');
});

it('finds decisions that are not done, out of bounds, out of time, or of other GPUs than there are', () => {
  const scaled = (gpus: number, on: number, atNs: number) =>
    found((books) => books.scaled({ gpus: [gpus], reason: '' }, counts(on), atNs));
  expect(scaled(3, 1, 30)).toBe('a scaler keeps to min and max');
  expect(scaled(0, 1, 30)).toBe('a scaler keeps to min and max');
  expect(scaled(1, 2, 30)).toBe('a scaler sees the GPUs that there are');
  expect(scaled(1, 1, 31)).toBe('a scaler is asked once in each interval');
  const ignored = (books: FleetBooks) => {
    books.scaled({ gpus: [2], reason: '' }, counts(1), 30);
    books.scaled({ gpus: [2], reason: '' }, counts(1), 40);
  };
  expect(found(ignored)).toBe('what a scaler decides is done');
});

it('finds actions of GPUs that are not there', () => {
  const books = new FleetBooks(EXPERIMENT, () => {});
  expect(books.decided(action)).toBe('a GPU gets actions only while it is there');
  expect(books.completed(action)).toBe('a GPU that has gone does nothing');
});
