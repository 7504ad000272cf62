import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Action } from '../../../src/core/action.js';
import { Controller } from '../../../src/core/controller.js';
import { FlightRecorder } from '../../../src/live/journal/flight-recorder.js';
import type { JournalHeader } from '../../../src/live/journal/journal-header.js';
import { CAUSES } from '../../../src/record/causes.js';
import { explain, flightText } from '../../../src/record/flight/explain.js';
import type { Flight } from '../../../src/record/flight/flight.js';
import { loggedFlight } from '../../../src/record/flight/logged-flight.js';
import { runLogs } from '../../../src/record/flight/run-logs.js';
import type { RunResult } from '../../../src/record/results.js';
import { RunTally } from '../../../src/record/run-tally.js';
import { simulate } from '../../../src/run/simulated.js';
import { Simulator } from '../../../src/sim/simulator.js';
import { EXPERIMENT } from '../../audit/run-folder.js';
import { load } from '../../config/experiment-files.js';

interface Watched {
  readonly dir: string;
  readonly result: RunResult;
  /** What a watcher inside the run saw, by request. */
  readonly seen: ReadonlyMap<number, Flight>;
}

/** Simulates with logs, while a recorder for each request looks on from inside the controller. */
async function watchedRun(overrides: readonly string[]): Promise<Watched> {
  const dir = mkdtempSync(join(tmpdir(), 'escapement-flight-'));
  const recorders = Array.from({ length: 400 }, (_, request) => new FlightRecorder(request));
  const all = (tell: (recorder: FlightRecorder) => void) => recorders.forEach(tell);
  let controller: Controller | null = null;
  const meet = (met: Controller) => {
    if (controller !== null) return;
    controller = met;
    all((recorder) => recorder.started({ admission: 'none' } as JournalHeader, met));
  };
  // Private members: nothing else lets a test see what the logs are compared with.
  const simulator = Simulator.prototype as unknown as { send(action: Action): void };
  const core = Controller.prototype as unknown as { queue(slot: number, nowNs: number): void };
  const { send } = simulator;
  const { queue } = core;
  vi.spyOn(core, 'queue').mockImplementation(function (this: Controller, slot, nowNs) {
    meet(this);
    all((recorder) => recorder.admitting(slot, nowNs));
    queue.call(this as never, slot, nowNs);
  });
  vi.spyOn(simulator, 'send').mockImplementation(function (this: Simulator, action) {
    meet(this.controller);
    all((recorder) => recorder.sent(action));
    send.call(this as never, action);
  });
  const { answered, completed } = RunTally.prototype;
  vi.spyOn(RunTally.prototype, 'answered').mockImplementation(function (this: RunTally, ...given) {
    all((recorder) => recorder.answered(given[0], given[1], given[2], given[3], given[4]));
    answered.apply(this, given);
  });
  vi.spyOn(RunTally.prototype, 'completed').mockImplementation(function (this: RunTally, ...given) {
    all((recorder) => recorder.completed(...given));
    completed.apply(this, given);
  });
  const result = await simulate(await load(EXPERIMENT, overrides), { outDir: dir });
  const seen = recorders.flatMap(({ flight }) =>
    flight === null ? [] : [[flight.request, flight] as const],
  );
  return { dir, result, seen: new Map(seen) };
}

afterEach(() => void vi.restoreAllMocks());

/** What both can tell; of the queue only if no request was queued `again`. The recorder knows neither kinds nor failures. */
function comparable({ known, dueNs: _, troubles: __, ...flight }: Flight, again: boolean) {
  const [{ queued, gpus }] = known;
  const kept = (list: typeof gpus) =>
    list.map(({ gpu, warm, execFreeNs }) => ({ gpu, warm, isThere: execFreeNs !== null }));
  const actions = flight.actions.map(({ gpuKind: _kind, ...action }) =>
    // Logs do not tell when an action that failed had begun.
    action.result === null || action.result.status === 'ok'
      ? action
      : { ...action, result: { ...action.result, beginNs: 0, endNs: 0 } },
  );
  return { ...flight, actions, queued: again ? 0 : queued, gpus: kept(gpus) };
}

describe('the story of a request from the logs', () => {
  it.each([
    ['overload', ['workload.0.rate=900/s']],
    ['few pages', ['cluster.pages=14']],
    ['delays', ['cluster.gpus=3', 'cluster.workers=2', 'cluster.network={ delay: 1ms, jitter: 500us }']],
    [
      'lost GPUs',
      ['cluster.failures=[{ at: 300ms, gpu: 1, for: 200ms }, { at: 600ms, gpu: 0, for: 100ms }]'],
    ],
    [
      'a scaler',
      [
        'cluster.gpus=[{ kind: v100, count: 1, min: 1, max: 3, start: 50ms }]',
        'scaler={ kind: reactive, interval: 20ms, stabilization: 60ms }',
      ],
    ],
  ])('is what a watcher inside the run sees: %s', async (_, overrides) => {
    const { dir, result, seen } = await watchedRun(overrides);
    const logs = runLogs(dir, result);
    expect(seen.size).toBe(400);
    const isAgain = [...seen.values()].some(({ known }) => known.length > 1);
    for (const [request, flight] of seen) {
      // Logs have only the last INFER of a request, so they do not tell when it was queued again.
      if (flight.known.length > 1) continue;
      const given = loggedFlight(logs, request, {
        model: (model) => `model-${model}`,
        classes: [],
        tenants: [],
      });
      expect(comparable(given!.flight, isAgain)).toEqual(comparable(flight, isAgain));
    }
  });
});

describe('a lost GPU', () => {
  it('is called gone, and is no reason to have waited', async () => {
    const failures =
      'cluster.failures=[{ at: 300ms, gpu: 1, for: 200ms }, { at: 800ms, gpu: 1, for: forever }]';
    const dir = mkdtempSync(join(tmpdir(), 'escapement-flight-'));
    const result = await simulate(await load(EXPERIMENT, ['workload.0.rate=900/s', failures]), {
      outDir: dir,
    });
    const logs = runLogs(dir, result);
    const failed: [id: number, arrivalNs: number][] = [];
    logs.requests(({ id, arrivalNs, cause }) => void (cause >= 0 && failed.push([id, arrivalNs])));
    const stories = (fromMs: number, toMs: number) =>
      failed
        .filter(([, arrivalNs]) => arrivalNs > fromMs * 1e6 && arrivalNs < toMs * 1e6)
        .map(([id]) => loggedFlight(logs, id, { model: String, classes: [], tenants: [] })!.flight)
        .map((flight) => `${flightText(flight)}${explain(flight).join('; ')}`);
    const [before, first, between, second] = [
      stories(0, 100),
      stories(300, 500),
      stories(500, 600),
      stories(800, 1500),
    ];
    for (const texts of [before, first, between, second]) expect(texts.length).toBeGreaterThan(0);
    for (const text of [...before, ...between]) expect(text).not.toContain('was gone');
    expect(first.join()).toContain('GPU 1 was gone from 0.3 s to 0.5 s');
    expect(second.join()).toContain('GPU 1 was gone from 0.8 s on');
    for (const text of [...first, ...second])
      expect(text).not.toMatch(/GPU 1 warm|EXEC of GPU 1|that of GPU 1/);
  });

  it('is named if it was gone or slow before the answer of a request that it concerns', async () => {
    const failures = 'cluster.failures=[{ at: 300ms, gpu: 1, for: 200ms, slowdown: 9 }]';
    const dir = mkdtempSync(join(tmpdir(), 'escapement-flight-'));
    const logs = runLogs(
      dir,
      await simulate(await load(EXPERIMENT, ['workload.0.rate=900/s', failures]), { outDir: dir }),
    );
    let [named, others] = [0, 0];
    logs.requests(({ id, arrivalNs, answeredNs, action }) => {
      const { flight } = loggedFlight(logs, id, { model: String, classes: [], tenants: [] })!;
      const isSlow = answeredNs >= 300e6 && arrivalNs < 500e6;
      const isConcerned =
        flight.actions.some((one) => one.id === action && one.gpu === 1) ||
        flight.known[0].gpus.some(({ gpu }) => gpu === 1);
      const says = explain(flight).includes('INFERs on GPU 1 took 9 times as long from 0.3 s to 0.5 s');
      expect(says).toBe(isSlow && isConcerned && flight.answer!.outcome !== 'ok');
      if (says) named++;
      else others++;
    });
    expect(Math.min(named, others)).toBeGreaterThan(10);
  });
});

describe('failed requests in the logs', () => {
  it.each([
    ['clockwork', ['workload.0.rate=900/s']],
    ['few pages', ['cluster.pages=14', 'cluster.network={ delay: 1ms, jitter: 500us }']],
    ['refusals', ['admission=predict', 'workload.0.slo=12ms']],
    ['late answers', ['policy={ kind: fifo }', 'workload.0.rate=1500/s']],
    ['noise', ['cluster.noise={ exec: 40%, load: 40%, stragglers: 4% }', 'workload.0.slo=12ms']],
  ])('have the causes that the recorder counted: %s', async (_, overrides) => {
    const dir = mkdtempSync(join(tmpdir(), 'escapement-flight-'));
    const result = await simulate(await load(EXPERIMENT, overrides), { outDir: dir });
    const none = Object.fromEntries(CAUSES.map((cause) => [cause, 0]));
    const { model: models } = result.summary.by;
    const counts = new Map(models.map(({ id }) => [id, { ...none }]));
    runLogs(dir, result).requests(({ model, cause, arrivalNs }) => {
      if (cause >= 0 && arrivalNs >= result.windows[0]!.beginSeconds * 1e9)
        counts.get(model)![CAUSES[cause]!]++;
    });
    expect(Object.values(result.summary.failures!).some((count) => count > 0)).toBe(true);
    expect(counts).toEqual(new Map(models.map(({ id, failures }) => [id, failures])));
  });
});
