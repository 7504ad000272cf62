import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OUTCOME_OK } from '../../../src/core/request.js';
import { Player } from '../../../src/play/engine/player.js';
import type { Command, EngineEvent, LaneFrame, LaneSource } from '../../../src/play/protocol.js';
import { explain, flightEvents } from '../../../src/record/flight/explain.js';
import { loggedFlight } from '../../../src/record/flight/logged-flight.js';
import { runLogs } from '../../../src/record/flight/run-logs.js';
import { ACTION, ACTION_COLUMNS, REQUEST, REQUEST_COLUMNS } from '../../../src/record/run-rows.js';
import { simulate } from '../../../src/run/simulated.js';
import { BASE, load, MODELS_CSV } from '../../config/experiment-files.js';

const S = 1e9;
const TEXT = BASE.replace('duration: 20s', 'duration: 4s').replace('slo: 100ms', 'slo: 12ms');

/** A player with a clock that a test turns: each look at it takes `lookMs`. */
class Bench {
  readonly events: EngineEvent[] = [];
  private readonly player: Player;
  private wallMs = 0;
  private readonly tasks: { run: () => void; atMs: number }[] = [];

  constructor(lookMs = 1) {
    this.player = new Player({
      post: (event, transfer) => void this.events.push(structuredClone(event, { transfer: [...transfer] })),
      nowMs: () => {
        this.wallMs += lookMs;
        return this.wallMs;
      },
      later: (run, delayMs) => void this.tasks.push({ run, atMs: this.wallMs + delayMs }),
    });
  }

  async tell(...commands: readonly Command[]): Promise<void> {
    for (const command of commands) await this.player.handle(command);
  }

  /** Runs tasks until none is left, or so many. */
  async turn(most = Number.POSITIVE_INFINITY): Promise<void> {
    for (let i = 0; i < most; i++) {
      const task = this.tasks.shift();
      if (task === undefined) return;
      this.wallMs = Math.max(this.wallMs, task.atMs);
      task.run();
      // What was enqueued runs before this.
      await this.player.handle({ type: 'story', lane: 9, request: 0 });
    }
  }

  all<T extends EngineEvent['type']>(type: T): Extract<EngineEvent, { type: T }>[] {
    return this.events.filter((event) => event.type === type) as Extract<EngineEvent, { type: T }>[];
  }

  frames(lane = 0): LaneFrame[] {
    return this.all('frame').map(({ lanes }) => lanes[lane] as LaneFrame);
  }
}

function source(...overrides: readonly string[]): LaneSource {
  return { text: TEXT, overrides, files: { 'models.csv': MODELS_CSV } };
}

function rowsOf(blocks: readonly Float64Array[], columns: number): Map<number, number[]> {
  const rows = new Map<number, number[]>();
  for (const block of blocks)
    for (let at = 0; at < block.length; at += columns)
      rows.set(block[at] as number, [...block.subarray(at, at + columns)]);
  return rows;
}

describe('the engine', () => {
  it.each([
    ['at once', [{ type: 'runToEnd' }], 0.01],
    ['in slices of a few instants', [{ type: 'runToEnd' }], 20],
    ['ten times as fast as the clock', [{ type: 'play', speed: 10 }], 1],
    ['slowly', [{ type: 'play', speed: 0.2 }], 1],
  ] as const)('ends with the digest of simulate: %s', async (_, commands, lookMs) => {
    const experiment = await load(TEXT);
    const { summary } = await simulate(experiment);
    const bench = new Bench(lookMs);
    await bench.tell({ type: 'open', lanes: [source(), source('policy.kind=edf')] }, ...commands);
    await bench.turn();
    const [done] = bench.all('done');
    expect(done!.lanes[0]!.summary).toEqual({ ...summary, name: 'experiment', wall: expect.anything() });
    expect(done!.lanes[1]!.summary.policy).toBe('edf');
    expect(bench.frames().at(-1)!.digest).toBe(summary.digest);
    expect(bench.all('frame').at(-1)!.isPlaying).toBe(false);
  });

  it('tells each action and each request, with counts that agree', async () => {
    const { summary } = await simulate(await load(TEXT));
    const bench = new Bench();
    await bench.tell({ type: 'open', lanes: [source()] }, { type: 'play', speed: 1 });
    await bench.turn();
    const frames = bench.frames();
    expect(frames.length).toBeGreaterThan(100);
    const requests = rowsOf(
      frames.map((frame) => frame.requests),
      REQUEST_COLUMNS,
    );
    const actions = rowsOf(
      frames.map((frame) => frame.actions),
      ACTION_COLUMNS,
    );
    const { offered, ok, late, timeout } = summary.requests;
    expect(requests.size).toBe(offered);
    const { counts, latency, waiting } = frames.at(-1)!;
    expect(counts).toMatchObject({ arrived: offered, inTime: ok, late, timedOut: timeout, failed: 0 });
    expect(waiting).toBe(0);
    expect(latency.reduce((sum, count) => sum + count)).toBe(ok + late);
    expect([...requests.values()].filter((row) => row[REQUEST.outcome] === 0)).toHaveLength(ok);
    for (const row of actions.values()) expect(row[ACTION.status]).not.toBe(-1);
    // In one frame an action is planned, in one under way, in one done.
    const states = new Set(
      frames.flatMap((frame) =>
        [...rowsOf([frame.actions], ACTION_COLUMNS).values()].map(
          (row) => `${Number.isNaN(row[ACTION.beginNs])} ${Number.isNaN(row[ACTION.endNs])}`,
        ),
      ),
    );
    expect([...states].sort()).toEqual(['false false', 'false true', 'true true']);
  });

  it('knows goodput and attainment of the last second', async () => {
    const bench = new Bench();
    await bench.tell({ type: 'open', lanes: [source()] }, { type: 'play', speed: 1 });
    await bench.turn(150);
    const frames = bench.all('frame');
    const { nowNs } = frames.at(-1)!;
    expect(nowNs).toBeGreaterThan(1.2 * S);
    const answered = [
      ...rowsOf(
        frames.map(({ lanes }) => lanes[0]!.requests),
        REQUEST_COLUMNS,
      ).values(),
    ];
    const recent = answered.filter((row) => row[REQUEST.answeredNs]! > nowNs - S);
    const inTime = recent.filter((row) => row[REQUEST.outcome] === 0).length;
    expect(frames.at(-1)!.lanes[0]).toMatchObject({ goodputRps: inTime, attainment: inTime / recent.length });
  });

  it('steps from instant to instant', async () => {
    const bench = new Bench();
    await bench.tell({ type: 'open', lanes: [source(), source('policy.kind=fifo')] });
    for (let i = 0; i < 50; i++) await bench.tell({ type: 'stepEvent' });
    const times = bench.all('frame').map(({ nowNs }) => nowNs);
    expect(times).toHaveLength(51);
    // The controller looks around at 0, too.
    expect(new Set(times).size).toBe(50);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  it('jumps from one missed request to the next, and tells their stories as explain does', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'escapement-play-'));
    const failing = [
      'cluster.gpus=2',
      'cluster.failures=[{ at: 10ms, gpu: 1, for: 2s }, { at: 10ms, gpu: 0, for: forever, slowdown: 1.5 }]',
    ];
    const result = await simulate(await load(TEXT, failing), { outDir: dir });
    const logs = runLogs(dir, result);
    const missed: number[] = [];
    logs.requests(({ id, cause }) => void (cause !== null && missed.push(id)));
    expect(missed.length).toBeGreaterThan(20);
    const bench = new Bench(0.01);
    await bench.tell({ type: 'open', lanes: [source(...failing)] });
    for (const id of missed.slice(0, 20)) {
      await bench.tell({ type: 'jumpToNextLate' });
      await bench.turn();
      const request = bench.all('jumped').at(-1)!.missed!.request;
      const at = rowsOf(
        bench.frames().map((frame) => frame.requests),
        REQUEST_COLUMNS,
      ).get(id)!;
      // Of several at one instant, the first counts.
      expect(missed).toContain(request);
      expect(bench.all('frame').at(-1)!.nowNs).toBeGreaterThanOrEqual(at[REQUEST.answeredNs]!);
    }
    expect(bench.all('jumped')[0]!.missed!.request).toBe(missed[0]);
    await bench.tell({ type: 'runToEnd' });
    await bench.turn();
    await bench.tell({ type: 'jumpToNextLate' });
    await bench.turn();
    expect(bench.all('jumped').at(-1)!.missed).toBe(null);
    for (const request of [...missed.slice(0, 20), 7, 99]) {
      await bench.tell({ type: 'story', lane: 0, request });
      const { flight } = loggedFlight(logs, request, { model: String, classes: [], tenants: [] })!;
      expect(bench.all('story').at(-1)!.story).toMatchObject({
        outcome: flight.answer!.outcome,
        events: flightEvents(flight),
        why: explain(flight),
      });
    }
    const stories = bench.all('story').map(({ story }) => story?.why.join('; '));
    expect(stories.join()).toMatch(/GPU 1 was gone from 0.01 s to 2.01 s; INFERs on GPU 0 took 1.5 times/);
  });

  it('tells of a request of a step the story of its pipeline, as one chain, and counts pipelines only', async () => {
    const steps = '{ id: a, model: "0" }, { id: b, model: "1", after: a, fanOut: 2 }';
    const pipelines = `pipelines: { name: chain, steps: [${steps}] }\n`;
    const bench = new Bench();
    await bench.tell(
      {
        type: 'open',
        lanes: [{ ...source('policy={ kind: edf }', 'slo=60ms'), text: `${TEXT}${pipelines}` }],
      },
      { type: 'runToEnd' },
    );
    await bench.turn();
    const all = [
      ...rowsOf(
        bench.frames().map((frame) => frame.requests),
        REQUEST_COLUMNS,
      ).values(),
    ];
    const ofSteps = all.filter((row) => row[REQUEST.parent]! >= 0);
    const last = bench.all('frame').at(-1)!.lanes[0]!.counts;
    expect(last.arrived).toBe(all.length - ofSteps.length);
    const second = ofSteps.find((row) => row[REQUEST.model] === 1 && row[REQUEST.outcome] === OUTCOME_OK)!;
    await bench.tell({ type: 'story', lane: 0, request: second[REQUEST.id]! });
    const parent = second[REQUEST.parent]!;
    const { story } = bench.all('story').at(-1)!;
    const own = ofSteps.filter((row) => row[REQUEST.parent] === parent);
    expect(story).toMatchObject({ request: parent, model: 'chain', deadlineNs: story!.arrivalNs + 60e6 });
    expect(story!.actions).toEqual(
      own.toSorted((a, b) => a[REQUEST.id]! - b[REQUEST.id]!).map((row) => row[REQUEST.action]),
    );
    expect(new Set(story!.actions).size).toBeGreaterThan(1);
  });

  it('changes the future, and says whether the past is the same', async () => {
    const slower = 'cluster.changes=[{ at: 1200ms, network: { delay: 5ms } }]';
    const { digest } = (await simulate(await load(TEXT, [slower]))).summary;
    const bench = new Bench();
    await bench.tell({ type: 'open', lanes: [source()] }, { type: 'play', speed: 1 });
    await bench.turn(60);
    const { nowNs } = bench.all('frame').at(-1)!;
    expect(nowNs).toBeLessThan(1.2 * S);
    await bench.tell({ type: 'change', lanes: [source(slower)] });
    expect(bench.all('opened').at(-1)!.lanes[0]!.isPastSame).toBe(true);
    expect(bench.all('frame').at(-1)).toMatchObject({ isPlaying: true });
    await bench.turn();
    expect(bench.all('done').at(-1)!.lanes[0]!.summary.digest).toBe(digest);
    await bench.tell({ type: 'change', lanes: [source('slo=9ms')] });
    expect(bench.all('opened').at(-1)!.lanes[0]!.isPastSame).toBe(false);
  });

  it('names lane, line and key of a mistake, and goes on with what it had', async () => {
    const bench = new Bench();
    await bench.tell({ type: 'open', lanes: [source()] });
    await bench.tell({
      type: 'open',
      lanes: [source(), { ...source(), text: TEXT.replace('600/s', 'many') }],
    });
    expect(bench.all('error')[0]).toMatchObject({ lane: 1, line: 4, key: 'workload.rate' });
    await bench.tell({ type: 'stepEvent' }, { type: 'stepEvent' });
    expect(bench.all('frame').at(-1)!.nowNs).toBeGreaterThan(0);
  });

  it('computes the bound without an open experiment', async () => {
    const bench = new Bench();
    await bench.tell({ type: 'bound', source: source() });
    expect(bench.all('bound')[0]!.figures.bestRps).toBeGreaterThan(100);
  });
});
