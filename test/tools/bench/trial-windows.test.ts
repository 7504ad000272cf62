import { expect, it } from 'vitest';
import {
  OUTCOME_LATE,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  type Outcome,
  RequestTable,
} from '../../../src/core/request.js';
import { TrialWindows } from '../../../src/tools/bench/trial-windows.js';

const MS = 1e6;

class Answers {
  readonly windows: TrialWindows;
  private readonly requests = new RequestTable();

  constructor(trials: number) {
    this.windows = new TrialWindows(1000 * MS, 1000 * MS, trials);
  }

  at(ms: number, latencyMs = 10, outcome: Outcome = OUTCOME_OK): void {
    const slot = this.requests.allocate(0, (ms - latencyMs) * MS, 1e9, 0);
    this.windows.answered(this.requests, slot, outcome, ms * MS);
    this.requests.release(slot);
  }
}

it('counts whole batches, wherever a trial ends', () => {
  const answers = new Answers(2);
  // Batches of 8 every 150 ms: 53.3 a second, and no trial ends between two.
  for (let ms = 30; ms < 3300; ms += 150) for (let i = 0; i < 8; i++) answers.at(ms + i / 1000);
  const results = answers.windows.results();
  expect(results?.throughputRps).toHaveLength(2);
  for (const rate of results?.throughputRps ?? []) expect(rate).toBeCloseTo(8 / 0.15, 3);
});

it('takes the latency of what was answered within the trial', () => {
  const answers = new Answers(1);
  answers.at(500, 400);
  for (let ms = 1000; ms < 2000; ms += 100) answers.at(ms, ms === 1900 ? 90 : 20, OUTCOME_LATE);
  answers.at(2000, 700);
  const results = answers.windows.results();
  expect(results?.p50Ms[0]).toBeCloseTo(20, 1);
  expect(results?.p99Ms).toEqual([90]);
  expect(results?.throughputRps[0]).toBeCloseTo(10, 5);
});

it('tells which share had no result, and counts none of it', () => {
  const answers = new Answers(1);
  for (let ms = 1000; ms < 2000; ms += 100) {
    answers.at(ms);
    answers.at(ms + 50, 1, OUTCOME_REJECTED);
  }
  answers.at(2000);
  expect(answers.windows.results()?.throughputRps[0]).toBeCloseTo(10, 5);
  expect(answers.windows.failedShare).toBeCloseTo(0.5, 5);
  expect(answers.windows.outcomes[OUTCOME_REJECTED]).toBe(10);
});

it('makes a trial longer on a machine that stalls, and is over after the last', async () => {
  const answers = new Answers(2);
  answers.at(1500);
  // A trial of nothing but a stall, then one of two answers.
  answers.at(3500, 2000);
  answers.at(4000);
  expect(answers.windows.results()).toBeNull();
  answers.at(4500);
  await answers.windows.over;
  answers.at(4600, 1, OUTCOME_REJECTED);
  expect(answers.windows.results()?.throughputRps).toEqual([0.5, 2]);
  expect(answers.windows.failedShare).toBe(0);
});

it('has no results before the trials have ended', () => {
  const { windows } = new Answers(1);
  expect(windows.results()).toBeNull();
  expect(windows.failedShare).toBe(0);
});
