import { describe, expect, it } from 'vitest';
import { type CompletedInfer, SelfTuning } from '../../../src/policies/common/self-tuning.js';

const MS = 1_000_000;
const US = 1000;

/** One INFER of 5 ms at a time on one lane, that departs from its plan by what it is given. Times in ms. */
class Course {
  nowMs = 0;

  constructor(
    readonly tuning: SelfTuning,
    /** One-way delay of the network. */
    public delayMs: number,
    readonly sloMs = 100,
  ) {}

  /** Its INFER was booked while the lane was busy, and the lane was free `earlyMs` before it should have been. */
  run(earlyMs: number, lateMs = 0): boolean {
    this.nowMs += 5;
    const beginMs = this.nowMs + this.delayMs;
    const infer: CompletedInfer = {
      wasBusy: true,
      decidedNs: this.nowMs * MS,
      predictedFreeNs: (beginMs + earlyMs) * MS,
      freeNs: beginMs * MS,
      beginNs: beginMs * MS,
      endNs: (beginMs + 5) * MS,
      predictedAnswerNs: (beginMs + 5 + this.delayMs - lateMs) * MS,
      sloNs: this.sloMs * MS,
    };
    return this.tuning.measured(infer, (beginMs + 5 + this.delayMs) * MS);
  }

  /** The same on an idle lane. */
  runIdle(skewMs = 0): boolean {
    this.nowMs += 5;
    const beginMs = this.nowMs + this.delayMs + skewMs;
    const infer: CompletedInfer = {
      wasBusy: false,
      decidedNs: this.nowMs * MS,
      predictedFreeNs: this.nowMs * MS,
      freeNs: this.nowMs * MS,
      beginNs: beginMs * MS,
      endNs: (beginMs + 5) * MS,
      predictedAnswerNs: (beginMs + 5 + this.delayMs - skewMs) * MS,
      sloNs: this.sloMs * MS,
    };
    return this.tuning.measured(infer, (beginMs + 5 + this.delayMs - skewMs) * MS);
  }
}

describe('SelfTuning', () => {
  it('books it as far ahead as an action needs to get there, and 50 us', () => {
    const course = new Course(new SelfTuning(0, 0), 2);
    for (let i = 0; i < 20; i++) course.runIdle();
    for (let i = 0; i < 300; i++) course.run(0);
    expect(course.tuning.deliveryNs).toBeCloseTo(2 * MS, 0);
    expect(course.tuning.resultNs).toBeCloseTo(2 * MS, 0);
    expect(course.tuning.tuned.scheduleAheadNs).toBeCloseTo(2 * MS + 50 * US, -2);
  });

  it.each([0, 1, 20, 100])(
    'books it further ahead where lanes are free earlier, from %d ms on',
    (startMs) => {
      const course = new Course(new SelfTuning(0, startMs * MS), 2);
      for (let i = 0; i < 400; i++) course.run(i % 2);
      expect(course.tuning.tuned.scheduleAheadNs).toBeCloseTo(3 * MS + 50 * US, -2);
    },
  );

  it('leaves a lane idle now and then, where booking ahead for it would cost all others more', () => {
    // One in a hundred is free 3 ms early; each ms ahead costs 0.3 / 20 of an INFER, its idle ms 1/500.
    const course = new Course(new SelfTuning(0, 0), 2, 20);
    for (let i = 0; i < 400; i++) course.run(i % 100 === 0 ? 3 : 0);
    expect(course.tuning.tuned.scheduleAheadNs).toBeCloseTo(2 * MS + 50 * US, -2);
  });

  it('never books further ahead than half of the SLO, nor less than configured', () => {
    const long = new Course(new SelfTuning(0, 0), 40, 30);
    for (let i = 0; i < 100; i++) long.run(30);
    expect(long.tuning.tuned.scheduleAheadNs).toBe(15 * MS);
    const least = new Course(new SelfTuning(1 * MS, 5 * MS), 0);
    for (let i = 0; i < 100; i++) least.run(0);
    expect(least.tuning.tuned.scheduleAheadNs).toBe(1 * MS);
  });

  it('tells clocks that are off from a network that is slow', () => {
    const course = new Course(new SelfTuning(0, 0), 2);
    for (let i = 0; i < 100; i++) course.runIdle(1);
    expect(course.tuning.deliveryNs / MS).toBeCloseTo(3, 3);
    expect(course.tuning.resultNs / MS).toBeCloseTo(1, 3);
  });

  it('keeps a margin that answers need, unless that costs more than it saves', () => {
    const course = new Course(new SelfTuning(0, 0), 1, 100);
    // Nine in ten are in time, and one is 2 ms late: 0.3 · 2 / 100 is less than 0.25 / 10.
    for (let i = 0; i < 400; i++) course.run(0, i % 10 === 0 ? 2 : 0);
    expect(course.tuning.tuned.marginNs).toBe(2 * MS);
    // With 30 ms it is more: they are given up.
    for (let i = 0; i < 400; i++) course.run(0, i % 10 === 0 ? 30 : 0);
    expect(course.tuning.tuned.marginNs).toBe(0);
    // More than an SLO of 20 ms leaves would only keep what is urgent from being tried.
    const short = new Course(new SelfTuning(0, 0), 1, 20);
    for (let i = 0; i < 400; i++) short.run(0, 12);
    expect(short.tuning.tuned.marginNs).toBe(0);
  });

  it('forgets what it measured where requests are given up and nothing is measured any more', () => {
    const course = new Course(new SelfTuning(0, 3 * MS), 40);
    expect(course.tuning.givenUp(9e9)).toBe(false);
    for (let i = 0; i < 400; i++) course.run(0, 5);
    expect(course.tuning.resultNs).toBeGreaterThan(39 * MS);
    const lastNs = (course.nowMs + 85) * MS;
    expect(course.tuning.givenUp(lastNs + 999 * MS)).toBe(false);
    expect(course.tuning.resultNs).toBeGreaterThan(39 * MS);
    expect(course.tuning.givenUp(lastNs + 1000 * MS)).toBe(true);
    expect(course.tuning.tuned).toEqual({ scheduleAheadNs: 3 * MS, marginNs: 0 });
    expect([course.tuning.deliveryNs, course.tuning.resultNs]).toEqual([0, 0]);
    // Then it learns as at first.
    course.nowMs += 2000;
    course.delayMs = 1;
    for (let i = 0; i < 40; i++) course.run(0);
    expect(course.tuning.tuned.scheduleAheadNs).toBeCloseTo(1 * MS + 50 * US, -2);
  });

  describe('among requests with longer SLOs', () => {
    const tight = 100 * MS;

    /** Tuned by INFERs with an SLO of a minute that come and go late by up to 200 ms. */
    function tuned(offer: (tuning: SelfTuning, nowNs: number) => void): SelfTuning {
      const course = new Course(new SelfTuning(0, 0), 2, 60_000);
      for (let i = 0; i < 400; i++) {
        offer(course.tuning, course.nowMs * MS);
        course.run(i % 200, i % 200);
      }
      return course.tuning;
    }

    it('leaves room for the shortest', () => {
      const tuning = tuned((to, nowNs) => to.offered(tight, 5 * MS, nowNs));
      const { scheduleAheadNs, marginNs } = tuning.tuned;
      expect(scheduleAheadNs).toBeLessThanOrEqual(tight / 2);
      expect(scheduleAheadNs + marginNs + 5 * MS + tuning.deliveryNs + tuning.resultNs).toBeLessThan(tight);
    });

    it('does not care for an SLO that no idle lane could meet, nor for one of long ago', () => {
      const tooShort = tuned((to, nowNs) => {
        if (to.resultNs > 0) to.offered(6 * MS, 5 * MS, nowNs);
      }).tuned;
      expect(tooShort.scheduleAheadNs).toBeGreaterThan(tight);
      const course = new Course(new SelfTuning(0, 0), 2, 60_000);
      course.tuning.offered(tight, 5 * MS, 0);
      for (let i = 0; i < 5000; i++) {
        course.tuning.offered(60_000 * MS, 5 * MS, course.nowMs * MS);
        course.run(i % 200, i % 200);
      }
      expect(course.tuning.tuned.scheduleAheadNs).toBeGreaterThan(tight);
    });
  });
});
