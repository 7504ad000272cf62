import { expect, it } from 'vitest';
import { Clock } from '../../../../src/base/clock/clock.js';
import { readServerSettings } from '../../../../src/config/server-settings.js';
import { ACTION_NAMES, INFER, STATUS_OK, STATUS_WORKER_LOST } from '../../../../src/core/action.js';
import { OUTCOME_NAMES } from '../../../../src/core/request.js';
import { FailingLink, type GpuPlan } from '../../../../src/live/controller/link/failing-link.js';
import { startMachine } from '../../../../src/live/worker/local-machine.js';
import { startCluster } from '../../../../src/serve/cluster.js';
import { simulatedModel } from '../../../../src/serve/simulated-models.js';
import { drawFailures, type GpuFailure } from '../../../../src/sim/failures.js';
import { PAGE_BYTES, simulated } from '../../../serve/fixtures.js';
import { type Arrival, ListSource, MS, poisson, resnets, run } from '../../../sim/fixtures.js';
import { Simulation, threadBodies } from '../../../swarm/world/index.js';

/** What became of a run, on either clock; times in ms. */
interface Seen {
  readonly answers: readonly string[][];
  readonly lost: readonly string[];
  /** Successful INFERs: GPU, begin and end. */
  readonly infers: readonly { readonly gpu: number; readonly beginNs: number; readonly endNs: number }[];
  readonly changes: readonly string[];
}

const MODELS = resnets(4);
const settings = { gpus: 3, pages: 22 };
const after = (ns: number) => Math.round(ns / MS);

/** Live mode's own code over simulated GPUs in a simulated world. */
async function live(
  policy: string,
  arrivals: readonly Arrival[],
  failures: readonly GpuFailure[],
  clocks: GpuPlan['clocks'] = [],
): Promise<Seen> {
  const server = await readServerSettings({
    file: null,
    environment: [],
    overrides: [`policy.kind=${policy}`],
  });
  const answers: string[][] = arrivals.map(() => []);
  const lost: string[] = [];
  const infers: Seen['infers'][number][] = [];
  const changes: string[] = [];
  const simulation = new Simulation({ seed: 1, bodies: threadBodies() });
  const process = simulation.machine('one', {}).process('controller', async ({ world }) => {
    const machine = await startMachine({
      ...{ world, devices: simulated(settings.gpus, 1), pages: settings.pages, pageBytes: PAGE_BYTES },
      models: MODELS.map((spec) => simulatedModel(spec, 1)),
    });
    const clock = new Clock(world.time);
    const link = new FailingLink(
      machine,
      {
        ...{ failures, clocks },
        failed: ({ gpu }, nowNs) => changes.push(`${gpu} fails at ${after(nowNs)}`),
        returned: ({ gpu }, nowNs) => changes.push(`${gpu} is back at ${after(nowNs)}`),
      },
      world.time,
    );
    const cluster = await startCluster(
      { links: [link], policy: server.settings.policy, sloNs: 25 * MS, admission: 'none', clock },
      () => ({
        seen: {
          run: {
            answered: () => {},
            completed: ({ status, gpu, kind, beginNs, endNs }) => {
              if (status === STATUS_WORKER_LOST)
                lost.push(`${ACTION_NAMES[kind]} on ${gpu} at ${after(endNs)}`);
              if (status === STATUS_OK && kind === INFER) infers.push({ gpu, beginNs, endNs });
            },
          },
        },
      }),
    );
    for (const [i, { timeNs, model, sloNs }] of arrivals.entries())
      world.time.after(Math.max(0, (timeNs - clock.nowNs()) / MS), () =>
        cluster.controller.infer({
          ...{ model, user: 0, sloNs, inputs: [new Uint8Array(MODELS[model]?.inputBytes ?? 0)] },
          done: ({ outcome }) => void answers[i]?.push(OUTCOME_NAMES[outcome]),
        }),
      );
  });
  process.start();
  await simulation.run(8e9);
  return { answers, lost, infers, changes };
}

/** The same in the simulator. */
async function inSimulator(
  policy: string,
  arrivals: readonly Arrival[],
  failures: readonly GpuFailure[],
): Promise<Pick<Seen, 'answers' | 'lost'>> {
  const fleet = {
    kinds: [{ gpus: settings.gpus, on: settings.gpus, startNs: 0, minLifetimeNs: 0 }],
    ...{ intervalNs: Number.POSITIVE_INFINITY, untilNs: 0, failures, observers: [] },
    decide: () => ({ gpus: [settings.gpus], reason: '' }),
  };
  const { actions, answers } = await run({
    ...{
      ...settings,
      policy,
      source: new ListSource(arrivals),
      models: MODELS,
      defaultSloNs: 25 * MS,
      seed: 1,
      fleet,
    },
  });
  return {
    answers: arrivals.map((_, user) =>
      answers.filter((one) => one.user === user).map(({ outcome }) => OUTCOME_NAMES[outcome]),
    ),
    lost: actions
      .filter(({ status }) => status === STATUS_WORKER_LOST)
      .map(({ gpu, kind, endNs }) => `${ACTION_NAMES[kind]} on ${gpu} at ${after(endNs)}`),
  };
}

const fails = (gpu: number, atMs: number, untilMs: number): GpuFailure => ({
  ...{ gpu, atNs: atMs * MS, untilNs: untilMs * MS, isBilled: true },
});

it('loses what a GPU runs as the simulator does, and brings it back without weights', async () => {
  // Each is alone, and its INFER is running when the GPU fails.
  const one = (ms: number) => ({ timeNs: ms * MS, model: 0, sloNs: 90 * MS });
  const arrivals = [one(100), one(300), one(500)];
  const failures = [fails(0, 110, 200), fails(1, 506, Number.POSITIVE_INFINITY)];
  const seen = await live('fifo', arrivals, failures);
  const { answers, lost } = await inSimulator('fifo', arrivals, failures);
  expect(lost).toHaveLength(2);
  expect(seen.lost).toEqual(lost);
  expect(seen.answers).toEqual(answers);
  expect(seen.changes).toEqual(['0 fails at 110', '0 is back at 200', '1 fails at 506']);
});

it('has the failures of the simulator in their order, and answers each request once', async () => {
  const load = { seed: 3, rateRps: 300, durationNs: 3000 * MS, models: 4, slosNs: [2000 * MS] };
  const arrivals = poisson(load).map((request) => ({ ...request, timeNs: request.timeNs + 50 * MS }));
  const specs = [{ perNs: 1 / (300 * MS), repairNs: 60 * MS, isBilled: true }];
  const failures = drawFailures(specs, settings.gpus, 3000 * MS, 5);
  expect(failures.length).toBeGreaterThan(15);
  const seen = await live('clockwork', arrivals, failures);
  const { answers, lost } = await inSimulator('clockwork', arrivals, failures);
  const order = failures
    .flatMap(({ gpu, atNs, untilNs }) => [
      { gpu, ns: atNs, what: 'fails' },
      { gpu, ns: untilNs, what: 'is back' },
    ])
    .sort((a, b) => a.ns - b.ns);
  expect(seen.changes).toHaveLength(order.length);
  for (const [i, { gpu, ns, what }] of order.entries()) {
    const [text, atMs] = (seen.changes[i] ?? '').split(' at ');
    expect(text).toBe(`${gpu} ${what}`);
    expect(Math.abs(Number(atMs) - ns / MS)).toBeLessThan(3);
  }
  // Nothing runs on a GPU that is gone.
  const inVain = seen.infers.filter(({ gpu, endNs }) =>
    failures.some((one) => one.gpu === gpu && endNs > one.atNs + 3 * MS && endNs < one.untilNs),
  );
  expect(inVain).toEqual([]);
  // Each has one answer; few fail, as two GPUs or more have lost them.
  const failed = [answers, seen.answers].map((of) => of.filter((each) => each.join() !== 'ok'));
  for (const each of failed) {
    expect(each.length).toBeLessThan(3);
    expect(each.every(([outcome, ...more]) => outcome === 'error' && more.length === 0)).toBe(true);
  }
  expect(lost.length).toBeGreaterThan(20);
  expect(Math.abs(seen.lost.length - lost.length)).toBeLessThan(5);
});

it('slows GPUs down by their clocks, which a failure does not change', async () => {
  const one = (ms: number) => ({ timeNs: ms * MS, model: 0, sloNs: 300 * MS });
  const clocks = [0, 1, 2].flatMap((gpu) => [
    { gpu, atNs: 0, factor: 0.5 },
    { gpu, atNs: 400 * MS, factor: 1 },
  ]);
  const failures = [0, 1, 2].map((gpu) => fails(gpu, 50, 60));
  const { infers } = await live('fifo', [one(100), one(200), one(500)], failures, clocks);
  const tookMs = infers.map(({ beginNs, endNs }) => (endNs - beginNs) / MS);
  const execMs = (MODELS[0]?.execNs[0] ?? 0) / MS;
  expect(tookMs.map((ms) => Math.round((10 * ms) / execMs))).toEqual([20, 20, 10]);
});
