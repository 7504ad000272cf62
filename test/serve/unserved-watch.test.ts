import { expect, it, vi } from 'vitest';
import { REAL_TIME } from '../../src/base/world/real-time.js';
import {
  type Action,
  type ActionKind,
  INFER,
  LOAD,
  STATUS_INFER_TOO_LATE,
  STATUS_OK,
} from '../../src/core/action.js';
import {
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
  type RequestTable,
} from '../../src/core/request.js';
import { EventLog } from '../../src/live/observe/event-log.js';
import { UnservedWatch } from '../../src/serve/unserved-watch.js';
import { action } from '../core/fixtures.js';
import { useFakeTime } from '../fake-time.js';

useFakeTime();

const REQUESTS = { model: [0, 1], arrivalNs: [5e6, 5e6], sloNs: [10e6, 10e6] } as unknown as RequestTable;

function start() {
  const lines: string[] = [];
  const write = (level: string) => (_: object, line: string) => lines.push(`${level} ${line}`);
  const log = new EventLog({ info: write('info'), warn: write('warn') } as never);
  let isIdle = false;
  const watch = new UnservedWatch({
    ...{ log, time: REAL_TIME, nameOf: (model: number) => 'ab'[model], isIdle: () => isIdle },
  });
  return {
    lines,
    watch,
    idle: () => {
      isIdle = true;
    },
    answer: (model: number, outcome: Outcome, times: number, nowNs = 6e6) => {
      for (let i = 0; i < times; i++) watch.answered(REQUESTS, model, outcome, nowNs);
    },
    end: (kind: ActionKind, times: number, fields: Partial<Action> = {}) => {
      for (let i = 0; i < times; i++)
        watch.completed(Object.assign(action(i, kind), { model: 0, status: STATUS_OK, ...fields }));
    },
    look: () => void vi.advanceTimersByTime(10_000),
  };
}

it('names a model of which nothing is served any more, once, and says when it is served again', () => {
  const { lines, answer, look } = start();
  answer(0, OUTCOME_TIMEOUT, 12);
  answer(1, OUTCOME_OK, 1);
  answer(1, OUTCOME_TIMEOUT, 50);
  look();
  answer(0, OUTCOME_TIMEOUT, 30);
  look();
  look();
  answer(0, OUTCOME_OK, 1);
  look();
  expect(lines).toEqual([
    'warn model a: of 12 requests in 10 s none was answered in time: nothing of it was executed, and it was not loaded: its SLO allows neither, other models come first, or this machine is too busy',
    'info model a: requests are answered in time again',
  ]);
});

it('starts again with a model that comes to the index of one that went', () => {
  const { lines, watch, answer, look } = start();
  answer(0, OUTCOME_TIMEOUT, 10);
  look();
  watch.modelGone(0);
  answer(0, OUTCOME_TIMEOUT, 10);
  look();
  answer(0, OUTCOME_TIMEOUT, 9);
  watch.modelGone(0);
  answer(0, OUTCOME_TIMEOUT, 9);
  look();
  expect(lines).toHaveLength(2);
});

it('says nothing of a few requests, and nothing while no GPU is there', () => {
  const { lines, answer, look, idle } = start();
  answer(0, OUTCOME_TIMEOUT, 9);
  look();
  idle();
  answer(0, OUTCOME_TIMEOUT, 100);
  look();
  expect(lines).toEqual([]);
});

it.each<[string, (run: ReturnType<typeof start>) => void, string]>([
  [
    'actions that come too late',
    ({ end }) => end(INFER, 7, { status: STATUS_INFER_TOO_LATE, beginNs: 9e6, latestNs: 2e6 }),
    '7 actions reached their GPU after their windows, by up to 7.0 ms',
  ],
  [
    'models that replace each other',
    ({ end }) => {
      end(LOAD, 6);
      end(INFER, 2);
    },
    'it was loaded 6 times for 2 INFERs: models that are wanted at the same time replace each other',
  ],
  [
    'bodies that take too long',
    ({ end, answer }) => {
      answer(0, OUTCOME_REJECTED, 30, 10.1e6);
      answer(0, OUTCOME_REJECTED, 10, 10e6);
      end(INFER, 1, { status: STATUS_INFER_TOO_LATE, beginNs: 9e6, latestNs: 2e6 });
    },
    'for 30 of them half of their SLO and more had passed while their bodies were received and decoded',
  ],
  ['INFERs that end too late', ({ end }) => end(INFER, 5), 'its 5 INFERs ended too late'],
  ['no INFER', ({ end }) => end(LOAD, 1), 'it was loaded, and nothing of it was executed'],
])('tells %s', (_, happened, words) => {
  const run = start();
  run.answer(0, OUTCOME_TIMEOUT, 10);
  happened(run);
  run.look();
  expect(run.lines[0]).toContain(words);
});
