import { describe, expect, it } from 'vitest';
import {
  STATUS_ABORTED,
  STATUS_DEVICE_ERROR,
  STATUS_INFER_TOO_LATE,
  STATUS_INFER_WEIGHTS_CHANGED,
  STATUS_OK,
  STATUS_WEIGHTS_MISSING,
  STATUS_WORKER_LOST,
} from '../../src/core/action.js';
import type { MissedWindow } from '../../src/core/retry.js';
import type { Cause } from '../../src/record/causes.js';
import { buildParts } from '../../src/record/parts.js';
import { RunTally } from '../../src/record/run-tally.js';
import { ControllerHarness } from '../core/controller-harness.js';
import { models } from '../core/fixtures.js';
import { MS, S } from './fixtures.js';

interface Scene {
  readonly harness: ControllerHarness;
  /** A request of model 0 with an SLO of 50 ms comes. */
  come(nowNs: number): void;
  /** The INFER or LOAD that was sent first ends. */
  end(status: number, nowNs: number): void;
}

/** The causes of a run that `play` scripts; `warm`: model 0 is on GPU 0 at 10 ms. */
function causesOf(
  warm: boolean,
  play: (scene: Scene) => void,
  missedWindow?: MissedWindow,
): Partial<Record<Cause, number>> {
  const recorder = new RunTally({
    gpus: 2,
    durationNs: S,
    warmupNs: 0,
    models: models(4),
    sections: ['workload'],
    sectionStarts: [0],
  });
  const harness = new ControllerHarness('none', recorder, missedWindow);
  const end = (status: number, nowNs: number) => {
    harness.finish(status, nowNs, nowNs);
    harness.controller.step(nowNs);
  };
  if (warm) load(harness, 0, () => end(STATUS_OK, 10 * MS));
  harness.policy.dueAfterNs = 40 * MS;
  harness.policy.onSchedule = (nowNs) => {
    if (harness.controller.cluster.warm.has(0, 0)) harness.inferAll(nowNs);
  };
  const come = (nowNs: number) => {
    harness.controller.offer(0, nowNs, 50 * MS, 0);
    harness.controller.step(nowNs);
  };
  play({ harness, come, end });
  const [{ failures }] = buildParts(recorder, [null], null).model;
  return Object.fromEntries(Object.entries(failures!).filter(([, count]) => count > 0));
}

function load(harness: ControllerHarness, nowNs: number, then: () => void): void {
  const { onSchedule } = harness.policy;
  harness.policy.onSchedule = (now, dispatch) => dispatch.load(0, 0, now, now + MS, now);
  harness.controller.step(nowNs);
  harness.policy.onSchedule = onSchedule;
  then();
}

describe('the cause of a failed request', () => {
  it.each([
    [STATUS_INFER_TOO_LATE, 'missedWindow'],
    [STATUS_WEIGHTS_MISSING, 'missedWindow'],
    [STATUS_DEVICE_ERROR, 'deviceError'],
    [STATUS_INFER_WEIGHTS_CHANGED, 'missedWindow'],
  ])('follows from status %i of its INFER: %s', (status, cause) => {
    expect(
      causesOf(true, ({ come, end }) => {
        come(10 * MS);
        end(status, 20 * MS);
      }),
    ).toEqual({ [cause]: 1 });
  });

  it('is the worker if that was lost, after the SLO or with no time for another try', () => {
    const lostAt = (lostNs: number) =>
      causesOf(true, ({ harness, come, end }) => {
        come(10 * MS);
        harness.policy.onSchedule = () => {};
        end(STATUS_WORKER_LOST, lostNs);
        harness.controller.step(200 * MS);
      });
    expect(lostAt(20 * MS)).toEqual({ workerLost: 1 });
    expect(lostAt(70 * MS)).toEqual({ workerLost: 1 });
  });

  it('is the queue if the policy called its INFER off', () => {
    expect(
      causesOf(
        true,
        ({ harness, come, end }) => {
          come(10 * MS);
          harness.policy.onSchedule = () => {};
          end(STATUS_ABORTED, 20 * MS);
          harness.controller.step(200 * MS);
        },
        'retry',
      ),
    ).toEqual({ timedOutQueued: 1 });
  });

  it('is the device if none could load the model', () => {
    expect(
      causesOf(false, ({ harness, come, end }) => {
        harness.policy.dueAfterNs = Number.POSITIVE_INFINITY;
        harness.controller.gpuDown(1);
        come(10 * MS);
        load(harness, 12 * MS, () => end(STATUS_DEVICE_ERROR, 20 * MS));
      }),
    ).toEqual({ deviceError: 1 });
  });
});
