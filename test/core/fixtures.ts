import { Action, type ActionKind, INFER } from '../../src/core/action.js';
import type { ModelSpec } from '../../src/core/model.js';

/** A small model with round times: 2 pages, LOAD 8 ms, INFER 3, 5 and 8 ms at batch 1, 2 and 4. */
export function model(over: Partial<ModelSpec> = {}): ModelSpec {
  return {
    name: 'model',
    weightsBytes: 20_000_000,
    pages: 2,
    loadNs: 8_000_000,
    batchSizes: [1, 2, 4],
    execNs: [3_000_000, 5_000_000, 8_000_000],
    inputBytes: 1000,
    outputBytes: 500,
    ...over,
  };
}

export function models(count: number, over: Partial<ModelSpec> = {}): ModelSpec[] {
  return Array.from({ length: count }, (_, i) => model({ name: `model${i}`, ...over }));
}

/** An action as a controller would hand it to a worker. */
export function action(id: number, kind: ActionKind = INFER, modelIndex = 0): Action {
  const made = new Action(4);
  made.id = id;
  made.kind = kind;
  made.model = modelIndex;
  made.count = kind === INFER ? 1 : 0;
  return made;
}
