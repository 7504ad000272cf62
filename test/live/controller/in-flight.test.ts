import { expect, it } from 'vitest';
import { type Action, INFER } from '../../../src/core/action.js';
import { InFlight, overdue } from '../../../src/live/controller/in-flight.js';
import { action } from '../../core/fixtures.js';

function sent(id: number, fields: Partial<Action>): Action {
  return Object.assign(action(id, INFER), { gpu: id, sentNs: 0, expectedDurationNs: 100 }, fields);
}

const gpus = (actions: InFlight<Action>, nowNs: number, graceNs: number) =>
  overdue(actions.all, nowNs, 10, graceNs).map(({ gpu }) => gpu);

it('a result is overdue ten times its duration and the grace after it might have begun', () => {
  const inFlight = new InFlight<Action>();
  inFlight.add(sent(1, { latestNs: 500, expectedEndNs: 150 }));
  inFlight.add(sent(2, { latestNs: Number.POSITIVE_INFINITY, expectedEndNs: 700 }));
  inFlight.add(sent(3, { latestNs: Number.POSITIVE_INFINITY, expectedEndNs: 0, sentNs: 900 }));
  expect(gpus(inFlight, 1550, 50)).toEqual([]);
  expect(gpus(inFlight, 1551, 50)).toEqual([1]);
  expect(gpus(inFlight, 1751, 50)).toEqual([1, 2]);
  expect(gpus(inFlight, 1951, 50)).toEqual([1, 2, 3]);
  inFlight.take(2, 2);
  expect(gpus(inFlight, 1951, 50)).toEqual([1, 3]);
});
