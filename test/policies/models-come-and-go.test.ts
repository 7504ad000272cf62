import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stream } from '../../src/base/random/streams.js';
import { INFER, LOAD, UNLOAD } from '../../src/core/action.js';
import { NO_MODEL } from '../../src/core/model.js';
import { POLICIES } from '../../src/policies/registry.js';
import { Simulator } from '../../src/sim/index.js';
import { model as spec } from '../core/fixtures.js';
import { createPolicy, MS, poisson } from '../sim/fixtures.js';
import { ChangingSource } from './models-come-and-go.js';
import { randomModel } from './random-run.js';

const SLOTS = 6;
const MOST_ACTIONS = 50_000;

const churn = fc
  .record({
    models: fc.array(randomModel, { maxLength: 4 }),
    changes: fc.array(
      fc.record({
        after: fc.nat(40),
        spec: fc.oneof(randomModel, fc.constant(null)),
        absent: fc.oneof(fc.constant<number[]>([]), fc.subarray([0, 1, 2, 3])),
      }),
      { minLength: 1, maxLength: 25 },
    ),
    gpus: fc.integer({ min: 1, max: 4 }),
    oneLane: fc.boolean(),
    pages: fc.integer({ min: 4, max: 12 }),
    rateRps: fc.constantFrom(50, 300, 1500),
    sloNs: fc.constantFrom(10 * MS, 60 * MS, 200 * MS),
    delayNs: fc.constantFrom(0, 300_000),
    noise: fc.constantFrom(0, 0.1),
    seed: fc.nat(1000),
    admission: fc.constantFrom('none' as const, 'predict' as const),
  })
  .map((drawn) => ({ ...drawn, toString: () => JSON.stringify(drawn) }));
type Churn = typeof churn extends fc.Arbitrary<infer T> ? T : never;

async function runChurn(policy: string, drawn: Churn) {
  const { models, changes, gpus, oneLane, pages, rateRps, sloNs, delayNs, noise, seed, admission } = drawn;
  let at = 0;
  const source = new ChangingSource(
    poisson({ seed, rateRps, durationNs: 400 * MS, models: SLOTS, slosNs: [sloNs] }),
    changes.map((change) => {
      at += change.after;
      return { ...change, before: at, absent: change.absent.filter((gpu) => gpu < gpus) };
    }),
    stream(seed, 'test-operator'),
  );
  const answered: number[] = [];
  let actions = 0;
  const simulator = new Simulator({
    models,
    spareModels: SLOTS - models.length,
    spareBatch: 8,
    gpus,
    pages,
    oneLane,
    defaultSloNs: sloNs,
    admission,
    missedWindow: 'retry',
    seed,
    source,
    network: { delayNs, jitterNs: 0 },
    noise: { exec: noise, load: noise, stragglers: 0, stragglerFactor: 1 },
    checks: true,
    createPolicy: (context) => {
      const { cluster, dispatch } = context;
      const watched: typeof dispatch = {
        infer: (order) => {
          expect(cluster.hasModel(order.model)).toBe(true);
          return dispatch.infer(order);
        },
        load: (gpu, model, ...rest) => {
          expect(cluster.lacks(gpu, model) && !cluster.bars.isAbsent(model, gpu)).toBe(true);
          return dispatch.load(gpu, model, ...rest);
        },
        unload: (...given) => dispatch.unload(...given),
        abort: (...given) => dispatch.abort(...given),
      };
      return createPolicy(policy)({ ...context, dispatch: watched });
    },
    observer: {
      answered: (requests, slot) => answered.push(requests.id[slot]),
      completed: (action) => {
        if ([INFER, LOAD, UNLOAD].includes(action.kind as 0))
          expect(simulator.controller.cluster.models[action.model]).not.toBe(NO_MODEL);
        if (++actions > MOST_ACTIONS) throw new Error('the run does not end');
      },
    },
  });
  source.begin(simulator);
  await simulator.run();
  return { simulator, source, answered };
}

describe.each(POLICIES.map(({ kind }) => kind))('models that come and go under %s', (policy) => {
  it('answers each request once, keeps its books and empties the slots of models that were retired', async () => {
    await fc.assert(
      fc.asyncProperty(churn, async (drawn) => {
        const { simulator, source, answered } = await runChurn(policy, drawn);
        const { controller, workers } = simulator;
        expect(answered.sort((a, b) => a - b)).toEqual(
          Array.from({ length: simulator.arrivals }, (_, id) => id),
        );
        const came = drawn.models.length + source.done.filter((change) => change.came).length;
        const went = source.done.filter((change) => !change.came).length;
        expect(controller.cluster.modelCount).toBe(came - went);
        for (let model = 0; model < SLOTS; model++) {
          const isThere = controller.cluster.hasModel(model);
          expect(controller.isServing(model)).toBe(isThere);
          if (isThere) continue;
          expect(controller.cluster.held.count(model)).toBe(0);
          for (const worker of workers) expect(worker.isPresent(model)).toBe(false);
        }
      }),
      { numRuns: 25 },
    );
  });

  it('a slot that had another model behaves like one that had none', async () => {
    const reused = await afterHistory(policy, 1);
    const fresh = await afterHistory(policy, 2);
    // Larger batches than the model before had.
    expect(reused.some((action) => /^2 \d 1 [48] /.test(action))).toBe(true);
    expect(reused).toEqual(fresh);
  });
});

/**
 * A model with small batches is served from slot `history` and retired, then one with larger ones comes to slot 1, next to one
 * that was there all the time. Returns all that was sent for the latter two from then on.
 */
async function afterHistory(policy: string, history: number): Promise<string[]> {
  const first = spec({ name: 'first', batchSizes: [1, 2], execNs: [4 * MS, 6 * MS], loadNs: 3 * MS });
  const second = spec({
    name: 'second',
    batchSizes: [1, 2, 4, 8],
    execNs: [1, 2, 3, 5].map((ms) => ms * MS),
  });
  const arrivals = [0, 1000].flatMap((beginMs, phase) =>
    poisson({
      seed: phase + 1,
      rateRps: phase === 0 ? 400 : 3000,
      durationNs: 400 * MS,
      models: 2,
      slosNs: [60 * MS],
    }).map(({ timeNs, model, sloNs }) => ({ timeNs: timeNs + beginMs * MS, model, phase, sloNs })),
  );
  const sent: string[] = [];
  let isAfter = false;
  let next = 0;
  const source = { timeNs: 0, model: 0, sloNs: 0, user: 0, advance };
  const simulator = new Simulator({
    models: [spec()],
    spareModels: 3,
    spareBatch: 8,
    gpus: 2,
    pages: 6,
    defaultSloNs: 60 * MS,
    seed: 1,
    source,
    missedWindow: 'retry',
    createPolicy: createPolicy(policy),
    observer: {
      answered: () => {},
      completed: ({ kind, gpu, model, batchSize, sentNs, latestNs }, nowNs) => {
        if (isAfter) sent.push([kind, gpu, model, batchSize, sentNs, latestNs, nowNs].join(' '));
      },
    },
  });
  simulator.putModel(history, first);
  advance();
  await simulator.run();
  return sent;

  function advance(): void {
    const arrival = arrivals[next++];
    if (arrival?.phase === 1 && arrivals[next - 2].phase === 0) simulator.controller.retireModel(history);
    const { controller } = simulator;
    // By then the first has gone, and nothing else happens.
    if (!isAfter && arrival?.phase === 1 && arrivals[next - 2].phase === 1) {
      expect(controller.cluster.hasModel(history)).toBe(false);
      simulator.putModel(1, second);
      isAfter = true;
    }
    source.timeNs = arrival?.timeNs ?? Number.POSITIVE_INFINITY;
    source.sloNs = arrival?.sloNs ?? 0;
    source.model = arrival?.model === 0 ? 0 : isAfter ? 1 : arrival?.phase === 0 ? history : 0;
  }
}
