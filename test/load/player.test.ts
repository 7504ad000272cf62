import { expect, it } from 'vitest';
import { EscapementError } from '../../src/base/errors.js';
import { NS_PER_MS, NS_PER_S } from '../../src/base/units.js';
import type { ArrivalSource } from '../../src/core/arrivals.js';
import { OUTCOME_OK, OUTCOME_REJECTED } from '../../src/core/request.js';
import { play } from '../../src/load/player.js';
import { openWorkload } from '../../src/workload/index.js';
import { Answers, FakeTarget, ListSource, type Sent } from './fixtures.js';

const every = (stepNs: number, count: number) => Array.from({ length: count }, (_, i) => i * stepNs);

it('sends on time while nothing is answered, and counts latency from the intended time', async () => {
  const observer = new Answers();
  const held: Sent[] = [];
  const target = new FakeTarget((request, index) => {
    held.push(request);
    // Not one is answered before the last was sent.
    if (index === 19) for (const { done } of held) done(OUTCOME_OK);
  });
  const timesNs = every(2 * NS_PER_MS, 20);
  const report = await play({ source: new ListSource(timesNs), target, observer });
  expect(report.requests).toBe(20);
  expect(observer.all.map(({ arrivalNs }) => arrivalNs)).toEqual(timesNs);
  // The first to come waited longest: at least until the last was due.
  for (const { arrivalNs, nowNs } of observer.all) {
    expect(nowNs - arrivalNs).toBeGreaterThanOrEqual(timesNs[19] - arrivalNs);
  }
});

it('sends no request before its time', async () => {
  const observer = new Answers();
  const source = new ListSource([0, 1 * NS_PER_MS, 8 * NS_PER_MS, 9 * NS_PER_MS]);
  const target = new FakeTarget(({ done }) => done(OUTCOME_OK));
  const { lateness } = await play({ source, target, observer });
  expect(lateness.count).toBe(4);
  expect(lateness.min).toBeGreaterThanOrEqual(0);
  for (const { arrivalNs, nowNs } of observer.all) expect(nowNs).toBeGreaterThanOrEqual(arrivalNs);
});

it('lets closed-loop clients go on when they are answered, whatever the answer', async () => {
  const { source } = await openWorkload(
    { kind: 'closed-loop', clients: 3, concurrency: 2, thinkNs: 0, durationNs: 3600 * NS_PER_S },
    { models: ['a', 'b', 'c'], sloNs: NS_PER_S, seed: 1 },
  );
  let outstanding = 0;
  let most = 0;
  const answers = [0, 0, 0];
  class Three extends Answers {
    override answered(...answer: Parameters<Answers['answered']>): void {
      super.answered(...answer);
      answers[this.all.at(-1)!.user]++;
      if (answers.every((count) => count >= 3)) throw new Error('enough');
    }
  }
  const observer = new Three();
  const target = new FakeTarget(({ user, done }) => {
    most = Math.max(most, ++outstanding);
    setImmediate(() => {
      outstanding--;
      done(user === 0 ? OUTCOME_REJECTED : OUTCOME_OK);
    });
  });
  await expect(play({ source, target, observer })).rejects.toThrow('enough');
  expect(most).toBeLessThanOrEqual(6);
  for (const { model, user } of observer.all) expect(model).toBe(user);
});

it('answers requests beyond the limit of outstanding ones itself', async () => {
  const observer = new Answers();
  const target: FakeTarget = new FakeTarget((_, index) => {
    if (index === 1) for (const { done } of target.sent) done(OUTCOME_OK);
  });
  const source = new ListSource([0, 0, 0, 0, 0]);
  const { refused, requests } = await play({ source, target, observer, mostOutstanding: 2 });
  expect(requests).toBe(5);
  expect(refused).toBe(3);
  expect(observer.outcomes).toEqual(['error', 'error', 'error', 'ok', 'ok']);
});

it('gives up what is never answered, and ignores an answer after that', async () => {
  const observer = new Answers();
  const target = new FakeTarget(({ user, done }) => {
    if (user !== 1) done(OUTCOME_REJECTED);
  });
  const source = new ListSource([0, 0, 0], 1);
  const { unanswered } = await play({ source, target, observer, patienceNs: 1e6 });
  target.sent[1].done(OUTCOME_OK);
  expect(unanswered).toEqual({ neverSent: 0, lost: 0, givenUp: 1 });
  expect(observer.all.map(({ user }) => user)).toEqual([0, 2, 1]);
  expect(observer.outcomes).toEqual(['rejected', 'rejected', 'error']);
});

it('takes no answer to a request that was given up for one to the next', async () => {
  const observer = new Answers();
  const target: FakeTarget = new FakeTarget(({ user, done }) => {
    if (user === 0) return;
    // The slot of the first holds the second by now.
    target.sent[0].done(OUTCOME_REJECTED);
    done(OUTCOME_OK);
  });
  const source = new ListSource([0, 0.7 * NS_PER_S], 1e6);
  const { unanswered } = await play({ source, target, observer, patienceNs: 1e6 });
  expect(unanswered).toEqual({ neverSent: 0, lost: 0, givenUp: 1 });
  expect(observer.all.map(({ user }) => user)).toEqual([0, 1]);
  expect(observer.outcomes.map((outcome) => outcome === 'rejected')).toEqual([false, false]);
});

it('waits for a source that has to read on', async () => {
  const source = new ListSource([0, 0, 0]);
  let refills = 0;
  const starving: ArrivalSource & { starved: boolean } = Object.assign(source, {
    starved: true,
    refill: async () => {
      refills++;
      await new Promise((resolve) => setTimeout(resolve, 5));
      starving.starved = false;
    },
  });
  const observer = new Answers();
  const target = new FakeTarget(({ done }) => done(OUTCOME_OK));
  await play({ source: starving, target, observer });
  expect(refills).toBe(1);
  expect(observer.all).toHaveLength(3);
});

it('ends with the error of a source or an observer', async () => {
  const target = new FakeTarget(({ done }) => done(OUTCOME_OK));
  const problem = new EscapementError('E_TRACE_VALUE', 'a bad line');
  const source = Object.assign(new ListSource([0]), { starved: true, refill: () => Promise.reject(problem) });
  await expect(play({ source, target, observer: new Answers() })).rejects.toBe(problem);

  const full = new EscapementError('E_FILE_WRITE', 'the disk is full');
  const observer = {
    answered: () => {
      throw full;
    },
    completed: () => {},
  };
  await expect(play({ source: new ListSource([0]), target, observer })).rejects.toBe(full);
});
