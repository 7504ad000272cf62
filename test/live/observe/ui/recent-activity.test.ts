import { expect, it } from 'vitest';
import { type Action, INFER, STATUS_OK } from '../../../../src/core/action.js';
import { OUTCOME_OK, RequestTable } from '../../../../src/core/request.js';
import { RecentActivity } from '../../../../src/live/observe/ui/live-page.js';
import { ACTION, ACTION_COLUMNS, REQUEST_COLUMNS } from '../../../../src/record/run-rows.js';

it('keeps so much at most, and tells what is new', () => {
  const activity = new RecentActivity([]);
  const requests = new RequestTable();
  const answer = () => {
    const slot = requests.allocate(0, 0, 1000, 0);
    activity.answered(requests, slot, OUTCOME_OK, 5, 1, null);
    requests.release(slot);
  };
  for (let i = 0; i < 30_500; i++) {
    activity.decided({ id: i, kind: 0, status: -1, requests: [], count: 0 } as unknown as Action);
    answer();
  }
  const { actions, requests: answers } = activity.since(0);
  expect([actions.length / ACTION_COLUMNS, answers.length / REQUEST_COLUMNS]).toEqual([2048, 4096]);
  const { mark } = activity;
  expect(activity.since(mark).requests).toHaveLength(0);
  answer();
  expect(activity.since(mark)).toEqual({
    actions: new Float64Array(),
    requests: new Float64Array([30_500, 0, 0, 0, 1000, 5, OUTCOME_OK, -1, -1, -1, -1]),
  });
  for (let i = 0; i < 2000; i++) answer();
  const latest = activity.since(mark).requests;
  expect([latest[0], latest.length / REQUEST_COLUMNS]).toEqual([31_501, 1000]);
});

it('tells an action again when it has ended', () => {
  const activity = new RecentActivity([]);
  const planned = { id: 0, kind: INFER, status: -1, requests: [], count: 0 } as unknown as Action;
  activity.decided(planned);
  expect(activity.since(0).actions[ACTION.handledNs]).toBeNaN();
  const { mark } = activity;
  activity.completed({ ...planned, beginNs: 10, endNs: 20, status: STATUS_OK } as Action, 30, 0, 1);
  const { actions } = activity.since(mark);
  expect([actions.length, actions[ACTION.endNs], actions[ACTION.handledNs]]).toEqual([
    ACTION_COLUMNS,
    20,
    30,
  ]);
});
