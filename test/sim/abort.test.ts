import { describe, expect, it } from 'vitest';
import { ACTION_NAMES, type Action, INFER } from '../../src/core/action.js';
import { type Policy, type PolicyContext, REFUSE } from '../../src/core/policy.js';
import { OUTCOME_NAMES } from '../../src/core/request.js';
import { models } from '../core/fixtures.js';
import { ListSource, MS, type RunOptions, run } from './fixtures.js';

/** Serves model 0 from GPU 0, one request at a time as they come; a request for model 1 is an order to abort. */
class AbortOnDemand implements Policy {
  readonly name = 'abort-on-demand';
  private readonly waiting: number[] = [];
  private aborts = 0;

  constructor(private readonly context: PolicyContext) {}

  admit(slot: number): number {
    if (this.context.requests.model[slot] === 1) {
      this.aborts++;
      return REFUSE;
    }
    this.waiting.push(slot);
    return Number.POSITIVE_INFINITY;
  }

  schedule(nowNs: number): void {
    const { cluster, dispatch } = this.context;
    if (!cluster.held.has(0, 0)) dispatch.load(0, 0, nowNs, Number.POSITIVE_INFINITY, nowNs);
    for (; this.aborts > 0; this.aborts--) dispatch.abort(0, nowNs);
    if (!cluster.warm.has(0, 0)) return;
    for (const slot of this.waiting.splice(0))
      dispatch.infer({
        gpu: 0,
        model: 0,
        batchIndex: 0,
        slots: Int32Array.of(slot),
        count: 1,
        earliestNs: nowNs,
        latestNs: Number.POSITIVE_INFINITY,
        nowNs,
      });
  }

  timedOut(): void {}
  finished(_action: Action): void {}
  weightsLost(): void {}
  weightsFound(): void {}
  lanesChanged(): void {}
  queued = () => this.waiting.length;
  nextWakeNs = () => Number.POSITIVE_INFINITY;
}

/** Model 0 is asked for at `requests`, aborts happen at `aborts`, in ms; an INFER takes 3 ms, a LOAD 8 ms from 0 on. */
async function aborted(requests: number[], aborts: number[], over: Partial<RunOptions> = {}) {
  const arrivals = [
    ...[0, ...requests].map((ms) => ({ timeNs: ms * MS, model: 0, sloNs: 100 * MS })),
    ...aborts.map((ms) => ({ timeNs: ms * MS, model: 1, sloNs: 100 * MS })),
  ].sort((a, b) => a.timeNs - b.timeNs);
  const { actions, answers } = await run({
    models: models(2),
    gpus: 1,
    pages: 4,
    defaultSloNs: 100 * MS,
    seed: 1,
    abortNs: MS,
    checks: true,
    policy: (context) => new AbortOnDemand(context),
    source: new ListSource(arrivals),
    ...over,
  } as RunOptions);
  const infers = actions.filter(({ kind }) => kind === INFER).slice(1);
  return {
    /** INFERs as [status, begin, end], in ms. */
    infers: infers.map(({ status, beginNs, endNs }) => [status, beginNs / MS, endNs / MS]),
    kinds: actions.map(({ kind }) => ACTION_NAMES[kind]),
    answers: answers
      .filter(({ model, id }) => model === 0 && id > 0)
      .map(({ outcome, nowNs }) => `${OUTCOME_NAMES[outcome]} ${nowNs / MS}`),
  };
}

describe('ABORT in simulation', () => {
  it('ends the running INFER after cluster.abort; its request is served by another', async () => {
    expect(await aborted([20], [21])).toMatchObject({
      infers: [
        [97, 20, 22],
        [0, 22, 25],
      ],
      answers: ['ok 25'],
    });
  });

  it('lets an INFER end that would end sooner, or at the very same time', async () => {
    for (const abortMs of [22, 22.5, 22.999]) {
      const { infers, answers } = await aborted([20], [abortMs]);
      expect(infers).toEqual([[0, 20, 23]]);
      expect(answers).toEqual(['ok 23']);
    }
  });

  it('crosses the network like every action, and so does what comes of it', async () => {
    const network = { delayNs: 0.5 * MS, jitterNs: 0 };
    expect(await aborted([20], [21], { network })).toMatchObject({
      infers: [
        [97, 20.5, 22.5],
        [0, 23.5, 26.5],
      ],
      answers: ['ok 27'],
    });
    // It gets there half a millisecond after the INFER has ended.
    expect((await aborted([20], [23.5], { network })).infers).toEqual([[0, 20.5, 23.5]]);
  });
});
