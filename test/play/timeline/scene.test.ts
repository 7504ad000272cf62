import { describe, expect, it } from 'vitest';
import { INFER, LOAD, STATUS_OK, UNLOAD } from '../../../src/core/action.js';
import { OUTCOME_LATE, OUTCOME_OK } from '../../../src/core/request.js';
import { Scene } from '../../../src/play/timeline/scene.js';
import { ACTION, ACTION_COLUMNS, REQUEST, REQUEST_COLUMNS } from '../../../src/record/run-rows.js';

const MS = 1e6;
const NONE: Float64Array = new Float64Array(0);

/** An INFER on GPU 0 that runs from 10 to 14 ms. */
const INFER_ROW: Readonly<Record<keyof typeof ACTION, number>> = {
  ...{ id: 0, kind: INFER, gpu: 0, model: 3, batchSize: 4, count: 2, sentNs: 5 * MS },
  ...{ earliestNs: 9 * MS, latestNs: 19 * MS, expectedDurationNs: 4 * MS, expectedEndNs: 15 * MS },
  ...{ deadlineNs: 30 * MS, beginNs: 10 * MS, endNs: 14 * MS, handledNs: 14 * MS, status: STATUS_OK },
};
const REQUEST_ROW: Readonly<Record<keyof typeof REQUEST, number>> = {
  ...{ id: 7, model: 3, user: 0, arrivalNs: 1 * MS, sloNs: 10 * MS, answeredNs: 14 * MS },
  ...{ outcome: OUTCOME_LATE, action: 0, cause: 0, step: -1, parent: -1 },
};

function actionRows(...changes: readonly Partial<typeof INFER_ROW>[]): Float64Array {
  return rows(
    ACTION,
    ACTION_COLUMNS,
    changes.map((change) => ({ ...INFER_ROW, ...change })),
  );
}

function requestRows(...changes: readonly Partial<typeof REQUEST_ROW>[]): Float64Array {
  return rows(
    REQUEST,
    REQUEST_COLUMNS,
    changes.map((change) => ({ ...REQUEST_ROW, ...change })),
  );
}

function rows<T extends string>(
  columns: Readonly<Record<T, number>>,
  width: number,
  items: readonly Readonly<Record<T, number>>[],
): Float64Array {
  const packed = new Float64Array(items.length * width);
  for (const [i, item] of items.entries())
    for (const name of Object.keys(columns) as T[]) packed[i * width + columns[name]] = item[name];
  return packed;
}

function sceneOf(actions: Float64Array, requests = NONE): Scene {
  const scene = new Scene();
  scene.add(actions, requests);
  return scene;
}

const spans = (scene: Scene, fromMs: number, toMs: number) =>
  scene.within(fromMs * MS, toMs * MS).boxes.map(({ fromNs, toNs }) => [fromNs / MS, toNs / MS]);

describe('actions', () => {
  it('are boxes from their begin to their end, in two rows per GPU', () => {
    const scene = sceneOf(
      actionRows(
        {},
        { id: 1, kind: LOAD, gpu: 2, beginNs: 20 * MS, endNs: 28 * MS },
        { id: 2, kind: UNLOAD },
      ),
    );
    const { boxes } = scene.within(0, 100 * MS);
    expect(boxes.map(({ row, fromNs, toNs, isInfer }) => [row, fromNs / MS, toNs / MS, isInfer])).toEqual([
      [0, 10, 14, true],
      [5, 20, 28, false],
    ]);
  });

  it('are where they are expected until they begin, and as long until they end', () => {
    const planned = { beginNs: Number.NaN, endNs: Number.NaN, status: -1 };
    const scene = sceneOf(actionRows(planned));
    expect(spans(scene, 0, 100)).toEqual([[11, 15]]);
    expect(scene.within(0, 100 * MS).boxes[0]).toMatchObject({ hasBegun: false, failure: '' });
    scene.add(actionRows({ ...planned, beginNs: 12 * MS }), NONE);
    expect(spans(scene, 0, 100)).toEqual([[12, 16]]);
    scene.add(actionRows({ beginNs: 12 * MS, endNs: 15.5 * MS }), NONE);
    expect(spans(scene, 0, 100)).toEqual([[12, 15.5]]);
  });

  it.each([
    ['before it', 0, 9, 0],
    ['over its begin', 0, 11, 1],
    ['inside of it', 11, 12, 1],
    ['around it', 0, 100, 1],
    ['over its end', 13, 20, 1],
    ['after it', 15, 20, 0],
  ])('are drawn where the view has a part of them: %s', (_, fromMs, toMs, count) => {
    expect(spans(sceneOf(actionRows({})), fromMs, toMs)).toHaveLength(count);
  });

  it('are found by row and time, with one of their requests', () => {
    const scene = sceneOf(actionRows({}), requestRows({}));
    expect(scene.boxAt(0, 10 * MS)).toMatchObject({ box: { model: 3 }, request: 7 });
    expect(scene.boxAt(0, 14 * MS)).toBeNull();
    expect(scene.boxAt(1, 12 * MS)).toBeNull();
    expect(sceneOf(actionRows({})).boxAt(0, 12 * MS)?.request).toBeUndefined();
  });

  it('are forgotten from the oldest on', () => {
    const scene = new Scene();
    const ids = Array.from({ length: 20_001 }, (_, id) => ({ id, beginNs: id * MS, endNs: (id + 0.5) * MS }));
    scene.add(actionRows(...ids), NONE);
    expect(spans(scene, 0, 1)).toEqual([[1, 1.5]]);
    expect(spans(scene, 20_000, 20_001)).toHaveLength(1);
  });
});

describe('requests', () => {
  it('are marks where they were not answered in time', () => {
    const inTime = { id: 8, outcome: OUTCOME_OK, cause: -1 };
    const { marks } = sceneOf(NONE, requestRows({}, inTime));
    expect(marks).toEqual([{ request: 7, model: 3, atNs: 14 * MS, outcome: 'late' }]);
  });

  it('are drawn in the view only', () => {
    const scene = sceneOf(NONE, requestRows({}));
    expect(scene.within(0, 14 * MS).marks).toHaveLength(1);
    expect(scene.within(0, 13 * MS).marks).toEqual([]);
    expect(scene.within(15 * MS, 20 * MS).marks).toEqual([]);
  });

  it('are found by the nearest mark, which is not far away', () => {
    const scene = sceneOf(NONE, requestRows({}, { id: 9, answeredNs: 16 * MS }));
    expect(scene.markAt(14.9 * MS, 2 * MS)?.request).toBe(7);
    expect(scene.markAt(15.1 * MS, 2 * MS)?.request).toBe(9);
    expect(scene.markAt(20 * MS, 2 * MS)).toBeNull();
  });
});

it('a scene that is cleared shows nothing', () => {
  const scene = sceneOf(actionRows({}), requestRows({}));
  scene.clear();
  expect(scene.within(0, 100 * MS)).toEqual({ boxes: [], marks: [] });
  expect(scene.boxAt(0, 12 * MS)).toBeNull();
});
