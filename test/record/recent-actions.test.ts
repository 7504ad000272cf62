import { expect, it } from 'vitest';
import { INFER, LOAD, STATUS_OK, UNLOAD } from '../../src/core/action.js';
import { RecentActions } from '../../src/record/recent-actions.js';
import { ACTION, ACTION_COLUMNS } from '../../src/record/run-rows.js';

function row(id: number, kind: number, model = 0): number[] {
  const values = new Array<number>(ACTION_COLUMNS).fill(0);
  values[ACTION.id] = id;
  values[ACTION.kind] = kind;
  values[ACTION.model] = model;
  values[ACTION.status] = -1;
  return values;
}

const ended = { beginNs: 1, endNs: 2, handledNs: 3, status: STATUS_OK };
const idsOf = (rows: readonly Float64Array[]) => rows.map((row) => row[ACTION.id]);

it('keeps the latest actions, and the LOADs of what is held however old', () => {
  const actions = new RecentActions(8);
  for (const [id, model] of [
    [0, 5],
    [1, 6],
  ]) {
    actions.put(row(id, LOAD, model), id + 1);
    actions.end(id, ended, 200 + id);
  }
  for (let id = 2; id < 100; id++) actions.put(row(id, INFER), id + 1);
  expect(idsOf(actions.since(0))).toEqual([0, 1, 92, 93, 94, 95, 96, 97, 98, 99]);
  actions.end(50, ended, 300);
  expect(idsOf(actions.since(97))).toEqual([0, 1, 97, 98, 99]);
  expect(idsOf(actions.since(200))).toEqual([1]);
  actions.put(row(100, UNLOAD, 5), 301);
  actions.end(100, ended, 302);
  expect(idsOf(actions.since(0))).toEqual([1, 93, 94, 95, 96, 97, 98, 99, 100]);
  expect([...actions.since(301)[0].slice(ACTION.beginNs)]).toEqual([1, 2, 3, STATUS_OK]);
});

it('takes a bounded amount of memory, whatever is loaded', () => {
  const actions = new RecentActions(8);
  for (let id = 0; id < 20_000; id++) {
    actions.put(row(id, LOAD, id));
    actions.end(id, ended);
  }
  expect(actions.since(-1).length).toBeLessThanOrEqual(4096 + 8);
});
