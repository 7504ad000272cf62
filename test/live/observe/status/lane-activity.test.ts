import { describe, expect, it } from 'vitest';
import { type Action, INFER, LANE_EXEC, LANE_WEIGHTS, LOAD, UNLOAD } from '../../../../src/core/action.js';
import { LaneActivity } from '../../../../src/live/observe/status/status-collector.js';
import { action } from '../../../core/fixtures.js';
import { MS } from '../../../sim/fixtures.js';

const S = 1000 * MS;

function order(kind: typeof INFER | typeof LOAD | typeof UNLOAD, earliestNs: number): Action {
  return Object.assign(action(0, kind), { earliestNs, sentNs: earliestNs });
}

function ended(done: Action, beginNs: number, endNs: number): Action {
  return Object.assign(done, { beginNs, endNs });
}

describe('what lanes are at', () => {
  it('is the first order whose window is open', () => {
    const lanes = new LaneActivity(1, false, 6);
    const [first, second] = [order(INFER, 10 * MS), order(INFER, 30 * MS)];
    lanes.decided(first);
    lanes.decided(second);
    lanes.decided(order(UNLOAD, 0));
    expect(lanes.running(0, LANE_EXEC, 9 * MS)).toBeNull();
    expect(lanes.running(0, LANE_EXEC, 12 * MS)).toBe(first);
    expect(lanes.running(0, LANE_WEIGHTS, 12 * MS)).toBeNull();
    lanes.completed(ended(first, 10 * MS, 29 * MS));
    expect(lanes.running(0, LANE_EXEC, 29 * MS)).toBeNull();
    expect(lanes.running(0, LANE_EXEC, 31 * MS)).toBe(second);
  });

  it('shows LOADs on a lane of their own, if there is one', () => {
    const load = order(LOAD, 0);
    const [two, one] = [new LaneActivity(1, false, 6), new LaneActivity(1, true, 6)];
    for (const lanes of [two, one]) lanes.decided(load);
    expect(two.running(0, LANE_WEIGHTS, MS)).toBe(load);
    expect(one.running(0, LANE_EXEC, MS)).toBe(load);
  });

  it('counts what ran and what runs as busy', () => {
    const lanes = new LaneActivity(2, false, 6);
    const [done, running] = [order(INFER, 0), order(INFER, 1 * S)];
    lanes.decided(done);
    lanes.decided(running);
    lanes.completed(ended(done, 0, 1.2 * S));
    // 1.2 s of the first, and the second from its end on.
    expect(lanes.share(0, LANE_EXEC, 0, 2 * S)).toBeCloseTo(1, 9);
    expect(lanes.share(0, LANE_EXEC, 1, 1.1 * S)).toBeCloseTo(1, 9);
    lanes.completed(ended(running, 1.5 * S, 1.6 * S));
    expect(lanes.share(0, LANE_EXEC, 0, 2 * S)).toBeCloseTo(0.65, 9);
    expect(lanes.share(0, LANE_EXEC, 1, 2 * S)).toBeCloseTo(0.3, 9);
    expect(lanes.share(1, LANE_EXEC, 0, 2 * S)).toBe(0);
  });

  it('forgets what was given up', () => {
    const lanes = new LaneActivity(1, false, 6);
    const lost = order(INFER, 0);
    lanes.decided(lost);
    lanes.completed(ended(lost, 0, 0));
    expect(lanes.running(0, LANE_EXEC, MS)).toBeNull();
    expect(lanes.share(0, LANE_EXEC, 0, MS)).toBe(0);
  });
});
