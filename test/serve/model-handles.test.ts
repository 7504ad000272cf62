import { describe, expect, it } from 'vitest';
import { NS_PER_S } from '../../src/base/units.js';
import { OUTCOME_CANCELLED, OUTCOME_OK } from '../../src/core/request.js';
import type { InferenceRequest } from '../../src/live/service.js';
import { ModelHandles } from '../../src/serve/model-handles.js';
import { smallModels } from './fixtures.js';

const HOUR_NS = 3600 * NS_PER_S;
const [MODEL, OTHER] = smallModels(2, 1);

/** ModelHandles for a service that answers with the index it was asked for, and whose clock stands still. */
function open() {
  const clock = { nowNs: 0 };
  const woken: number[] = [];
  const service = {
    nowNs: () => clock.nowNs,
    infer: ({ model, done }: InferenceRequest) =>
      done({ outcome: OUTCOME_OK, outputs: [], predictedNs: 0, batchSize: 1, error: `index ${model}` }),
  };
  const handles = new ModelHandles(service, (handle) => woken.push(handle));
  const ask = (model: number) =>
    new Promise<string | undefined>((done) =>
      handles.infer({ model, user: 0, sloNs: 1, inputs: [], done: ({ error }) => done(error) }),
    );
  return { handles, clock, woken, ask };
}

describe('a request whose client has gone', () => {
  it('does not wait for its model to be loaded again, and those around it do', async () => {
    const { handles } = open();
    const handle = handles.issue(MODEL, 0);
    handles.sleep(handle);
    const answers: [string, number][] = [];
    const requests = ['a', 'b', 'c'].map((name): InferenceRequest => {
      const done = ({ outcome }: { readonly outcome: number }) => answers.push([name, outcome]);
      return { model: handle, user: 0, sloNs: 1, inputs: [], done };
    });
    for (const request of requests) handles.infer(request);
    const [, b] = requests;
    // Its connection ends, and then closes.
    for (let i = 0; i < 2; i++) b.keeper?.cancel(b);
    await expect.poll(() => answers).toEqual([['b', OUTCOME_CANCELLED]]);
    handles.awake(handle, 4);
    await expect
      .poll(() => answers.slice(1))
      .toEqual([
        ['a', OUTCOME_OK],
        ['c', OUTCOME_OK],
      ]);
  });
});

describe('a handle', () => {
  it('leads to what serves its model now, also after it was replaced several times', async () => {
    const { handles, ask } = open();
    const [a, b, c] = [7, 8, 9].map((index) => handles.issue(MODEL, index));
    handles.replace(a, b);
    handles.replace(b, c);
    expect([await ask(a), await ask(b), await ask(c)]).toEqual(['index 9', 'index 9', 'index 9']);
    expect([a, b, c].map((handle) => handles.indexOf(handle))).toEqual([-1, -1, 9]);
    const other = handles.issue({ ...OTHER, signature: { ...OTHER.signature, batched: false } }, 3);
    handles.replace(c, other);
    expect(await ask(a)).toMatch(/was replaced while the request arrived/);
  });

  it('that has gone is forgotten after a while, and is never given out again', async () => {
    const { handles, clock, ask } = open();
    const stays = handles.issue(MODEL, 0);
    const gone = handles.issue(MODEL, 1);
    const replaced = handles.issue(MODEL, 2);
    handles.drop(gone, 'it is unloaded');
    handles.replace(replaced, stays);
    clock.nowNs += 5 * 60 * NS_PER_S;
    const later = handles.issue(MODEL, 3);
    expect([await ask(gone), await ask(replaced)]).toEqual(['it is unloaded', 'index 0']);
    clock.nowNs += HOUR_NS;
    expect(handles.issue(MODEL, 4)).toBe(later + 1);
    expect([await ask(gone), await ask(replaced)]).toEqual(Array(2).fill('there is no such model'));
    expect([await ask(stays), await ask(later)]).toEqual(['index 0', 'index 3']);
  });

  it('that sleeps is kept, however long, also if it was away before', async () => {
    const { handles, clock, woken, ask } = open();
    const handle = handles.issue(MODEL, 0);
    handles.drop(handle, 'it cannot be loaded again');
    handles.sleep(handle);
    clock.nowNs += HOUR_NS;
    handles.issue(MODEL, 1);
    const answer = ask(handle);
    expect(woken).toEqual([handle]);
    handles.awake(handle, 5);
    expect(await answer).toBe('index 5');
  });
});
