import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../src/base/invariant.js';
import {
  ABORT,
  INFER,
  LOAD,
  STATUS_ABORTED,
  STATUS_DEVICE_ERROR,
  STATUS_INFER_TOO_LATE,
  STATUS_OK,
} from '../../src/core/action.js';
import type { Admission } from '../../src/core/admission.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
} from '../../src/core/request.js';
import type { MissedWindow } from '../../src/core/retry.js';
import { ControllerHarness } from './controller-harness.js';

const MS = 1_000_000;

/** A harness whose model 0 is warm on GPU 0, at 10 ms. */
function warm(admission: Admission = 'none', missedWindow?: MissedWindow): ControllerHarness {
  const harness = new ControllerHarness(admission, undefined, missedWindow);
  harness.policy.onSchedule = (nowNs, dispatch) => dispatch.load(0, 0, nowNs, nowNs + MS, nowNs);
  harness.controller.step(0);
  harness.policy.onSchedule = () => {};
  harness.finish(STATUS_OK, 0, 8 * MS);
  harness.controller.step(10 * MS);
  return harness;
}

describe('Controller: a request whose client has gone', () => {
  it('stays in an action that was sent, and is answered with it', () => {
    const harness = warm();
    harness.policy.onSchedule = (nowNs) => harness.inferAll(nowNs);
    const slot = harness.controller.offer(0, 10 * MS, 50 * MS, 0);
    harness.controller.step(10 * MS);
    harness.controller.cancel(slot);
    harness.controller.step(11 * MS);
    harness.finish(STATUS_OK, 10 * MS, 14 * MS);
    harness.controller.step(14 * MS);
    expect(harness.answers).toEqual([{ id: 0, outcome: OUTCOME_OK, nowNs: 14 * MS }]);
    // Its slot is another's now, whom that does not concern.
    harness.policy.onSchedule = () => {};
    expect(harness.controller.offer(0, 15 * MS, 50 * MS, 0)).toBe(slot);
    harness.controller.step(15 * MS);
    expect(harness.policy.waiting).toEqual([slot]);
  });

  it('is not tried again when its action has missed its window', () => {
    const harness = warm('none', 'retry');
    harness.policy.onSchedule = (nowNs) => harness.inferAll(nowNs);
    const slot = harness.controller.offer(0, 10 * MS, 50 * MS, 0);
    harness.controller.step(10 * MS);
    harness.controller.cancel(slot);
    harness.finish(STATUS_INFER_TOO_LATE, 11 * MS, 11 * MS);
    harness.controller.step(12 * MS);
    expect(harness.answers).toEqual([{ id: 0, outcome: OUTCOME_CANCELLED, nowNs: 12 * MS }]);
    expect([harness.policy.waiting, harness.sent]).toEqual([[], []]);
  });
});

describe('Controller: answers', () => {
  it('answers ok within the SLO, the deadline itself included, and late after it', () => {
    for (const [endNs, outcome] of [
      [60 * MS, OUTCOME_OK],
      [60 * MS + 1, OUTCOME_LATE],
    ]) {
      const harness = warm();
      harness.policy.onSchedule = (nowNs) => harness.inferAll(nowNs);
      harness.controller.offer(0, 10 * MS, 50 * MS, 0);
      harness.controller.step(10 * MS);
      harness.finish(STATUS_OK, 10 * MS, endNs);
      harness.controller.step(endNs);
      expect(harness.answers).toEqual([{ id: 0, outcome, nowNs: endNs }]);
    }
  });

  it('does not time out a request that is in an action, nor the next one in its slot', () => {
    const harness = warm();
    harness.policy.dueAfterNs = 2 * MS;
    harness.policy.onSchedule = (nowNs) => harness.inferAll(nowNs);
    harness.controller.offer(0, 10 * MS, 50 * MS, 0);
    harness.controller.step(10 * MS);
    harness.controller.step(12 * MS);
    expect(harness.answers).toEqual([]);
    harness.finish(STATUS_OK, 10 * MS, 11 * MS);
    harness.controller.step(13 * MS);
    harness.policy.onSchedule = () => {};
    harness.policy.dueAfterNs = 100 * MS;
    harness.controller.offer(0, 13 * MS, 50 * MS, 0);
    harness.controller.step(14 * MS);
    expect(harness.answers.map(({ outcome }) => outcome)).toEqual([OUTCOME_OK]);
  });
});

describe('Controller: bookkeeping', () => {
  it('answers requests for a model with an error once no device could load it, and no sooner', () => {
    const harness = new ControllerHarness();
    harness.controller.offer(1, 0, 1000 * MS, 0);
    for (const gpu of [0, 1]) {
      harness.policy.onSchedule = (nowNs, dispatch) => dispatch.load(gpu, 1, nowNs, nowNs, nowNs);
      harness.controller.step(gpu * MS);
      expect(harness.answers).toEqual([]);
      harness.policy.onSchedule = () => {};
      harness.finish(STATUS_DEVICE_ERROR, gpu * MS, gpu * MS + 5);
      harness.controller.step(gpu * MS + 6);
    }
    expect(harness.answers.map(({ outcome }) => outcome)).toEqual([OUTCOME_ERROR]);
  });
});

describe('Controller: broken promises are invariant failures', () => {
  it('time running backwards', () => {
    const harness = new ControllerHarness();
    harness.controller.step(10);
    expect(() => harness.controller.step(10)).not.toThrow();
    expect(() => harness.controller.step(9)).toThrow(InvariantError);
  });

  it('an INFER where the model is not warm, a LOAD where it is, an UNLOAD where it is not', () => {
    const cold = new ControllerHarness();
    cold.controller.offer(0, 0, 50, 0);
    cold.policy.onSchedule = (nowNs) => cold.inferAll(nowNs);
    expect(() => cold.controller.step(0)).toThrow('INFER goes to a GPU that holds the model');
    const held = warm();
    held.policy.onSchedule = (nowNs, dispatch) => dispatch.load(0, 0, nowNs, nowNs, nowNs);
    expect(() => held.controller.step(10 * MS)).toThrow('LOAD goes to a GPU that lacks the model');
    const absent = warm();
    absent.policy.onSchedule = (nowNs, dispatch) => dispatch.unload(1, 0, nowNs);
    expect(() => absent.controller.step(10 * MS)).toThrow('UNLOAD goes to a GPU where the model is warm');
  });

  it('a batch that is empty, over its size, or holds a request of another action', () => {
    const send = (count: number, slots: number[]) => {
      const harness = warm();
      for (let i = 0; i < 2; i++) harness.controller.offer(0, 10 * MS, 50 * MS, 0);
      harness.policy.onSchedule = (nowNs, dispatch) =>
        dispatch.infer({
          gpu: 0,
          model: 0,
          batchIndex: 0,
          slots: Int32Array.from(slots),
          count,
          earliestNs: nowNs,
          latestNs: nowNs,
          nowNs,
        });
      harness.controller.step(10 * MS);
      harness.controller.step(10 * MS);
    };
    expect(() => send(0, [0])).toThrow('a batch is neither empty nor over its size');
    expect(() => send(2, [0, 1])).toThrow('a batch is neither empty nor over its size');
    expect(() => send(1, [0])).toThrow('a request is in one action at a time');
  });
});

describe('Controller: ABORT', () => {
  /** A request of 50 ms is in an INFER since 10 ms, and an ABORT was sent at 12 ms. */
  function aborting(): ControllerHarness {
    const harness = warm();
    harness.policy.dueAfterNs = 20 * MS;
    harness.policy.onSchedule = (nowNs) => harness.inferAll(nowNs);
    harness.controller.offer(0, 10 * MS, 50 * MS, 0);
    harness.controller.step(10 * MS);
    harness.policy.onSchedule = (nowNs, dispatch) => dispatch.abort(0, nowNs);
    harness.controller.step(12 * MS);
    harness.policy.onSchedule = () => {};
    expect(harness.sent.map(({ kind }) => kind)).toEqual([INFER, ABORT]);
    return harness;
  }

  it('measures nothing by an INFER that was aborted', () => {
    const harness = aborting();
    harness.finish(STATUS_ABORTED, 10 * MS, 59 * MS);
    harness.controller.step(59 * MS);
    expect(harness.controller.cluster.nominalExecNs(0, 0)).toBe(3 * MS);
  });

  it('a request that was taken back waits until the due time that it got last', () => {
    const harness = aborting();
    harness.finish(STATUS_ABORTED, 10 * MS, 25 * MS);
    harness.controller.step(25 * MS);
    // The due time of its first admission.
    harness.controller.step(30 * MS);
    expect(harness.answers).toEqual([]);
    harness.controller.step(45 * MS);
    expect(harness.answers).toEqual([{ id: 0, outcome: OUTCOME_TIMEOUT, nowNs: 45 * MS }]);
  });
});

describe('Controller: admission by prediction', () => {
  it('does not shut a model out for good after one slow INFER', () => {
    const harness = warm('predict');
    harness.policy.onSchedule = (nowNs) => harness.inferAll(nowNs);
    const ask = (atNs: number) => {
      harness.controller.offer(0, atNs, 50 * MS, 0);
      harness.controller.step(atNs);
    };
    ask(10 * MS);
    harness.finish(STATUS_OK, 10 * MS, 90 * MS);
    ask(100 * MS);
    ask(1089 * MS);
    expect(harness.answers.map(({ outcome }) => outcome)).toEqual([
      OUTCOME_LATE,
      OUTCOME_REJECTED,
      OUTCOME_REJECTED,
    ]);
    ask(1090 * MS);
    harness.finish(STATUS_OK, 1090 * MS, 1093 * MS);
    harness.controller.step(1093 * MS);
    expect(harness.answers[3]).toEqual({ id: 3, outcome: OUTCOME_OK, nowNs: 1093 * MS });
  });

  it('leaves a request for a model that no GPU holds to the policy, which would never load it otherwise', () => {
    const harness = new ControllerHarness('predict');
    harness.policy.onSchedule = (nowNs, dispatch) => {
      if (harness.policy.waiting.length > 0 && harness.sent.length === 0)
        dispatch.load(0, 0, nowNs, nowNs, nowNs);
    };
    // The model loads in 8 ms: it can't be there within 5.
    harness.controller.offer(0, 0, 5 * MS, 0);
    harness.controller.step(0);
    expect(harness.answers).toEqual([]);
    expect(harness.sent.map(({ kind }) => kind)).toEqual([LOAD]);
  });
});

describe('Controller: missedWindow', () => {
  /** A request of 50 ms is in an INFER since 10 ms that may begin until 12 ms. */
  function inferring(missedWindow?: 'retry' | 'fail'): ControllerHarness {
    const harness = warm('none', missedWindow);
    harness.policy.onSchedule = (nowNs, dispatch) => {
      const slots = Int32Array.from(harness.policy.waiting.splice(0));
      if (slots.length > 0)
        dispatch.infer({
          gpu: 0,
          model: 0,
          batchIndex: 0,
          slots,
          count: slots.length,
          earliestNs: nowNs,
          latestNs: nowNs + 2 * MS,
          nowNs,
        });
    };
    harness.controller.offer(0, 10 * MS, 50 * MS, 0);
    harness.controller.step(10 * MS);
    return harness;
  }

  it('retry: requests are queued again, and the window is longer by what was missed', () => {
    const harness = inferring('retry');
    harness.finish(STATUS_INFER_TOO_LATE, 16 * MS, 16 * MS);
    harness.controller.step(17 * MS);
    expect(harness.answers).toEqual([]);
    expect(harness.sent).toMatchObject([{ kind: INFER, sentNs: 17 * MS, latestNs: (17 + 2 + 6) * MS }]);
    harness.finish(STATUS_OK, 24 * MS, 27 * MS);
    harness.controller.step(27 * MS);
    expect(harness.answers).toEqual([{ id: 0, outcome: OUTCOME_OK, nowNs: 27 * MS }]);
  });

  it('retry: no window goes on to where none of its requests could be in time', () => {
    const harness = inferring('retry');
    harness.finish(STATUS_INFER_TOO_LATE, 42 * MS, 42 * MS);
    harness.controller.step(43 * MS);
    // The deadline is 60 ms, the INFER takes 3.
    expect(harness.sent).toMatchObject([{ latestNs: 57 * MS }]);
  });

  it('retry: what is refused in the instant that it was sent is not sent again for ever', () => {
    const harness = inferring('retry');
    harness.finish(STATUS_INFER_TOO_LATE, 80 * MS, 80 * MS);
    harness.controller.step(10 * MS);
    expect(harness.answers).toMatchObject([{ outcome: OUTCOME_ERROR }]);
  });

  it('fail: requests are answered error, which is the default for a policy that takes nothing back', () => {
    for (const missedWindow of ['fail', undefined] as const) {
      const harness = inferring(missedWindow);
      harness.finish(STATUS_INFER_TOO_LATE, 16 * MS, 16 * MS);
      harness.controller.step(17 * MS);
      expect(harness.answers).toMatchObject([{ outcome: OUTCOME_ERROR }]);
      expect(harness.sent).toEqual([]);
    }
  });
});
