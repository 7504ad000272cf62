import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { LOAD, STATUS_INFER_TOO_LATE, STATUS_WORKER_LOST, UNLOAD } from '../../../src/core/action.js';
import { OUTCOME_OK, OUTCOME_TIMEOUT } from '../../../src/core/request.js';
import { Recording } from '../../../src/live/recording/recording.js';
import { action, MS } from '../../record/fixtures.js';
import { Played, record } from './played.js';
import type { Slice } from './trace-reader.js';

const EXEC_0 = 2000;
const WEIGHTS_0 = 2001;

function named(slices: readonly Slice[] | undefined): unknown[] {
  return (slices ?? []).map(({ event: { name }, beginNs, endNs, children }) => [
    name,
    beginNs,
    endNs,
    ...(children.length === 0 ? [] : [named(children)]),
  ]);
}

describe('a timeline', () => {
  it('shows decisions, requests, windows and lanes, and arrows from decisions to what they led to', async () => {
    const played = record();
    const { recorder, table } = played;
    const slot = table.allocate(1, 7 * MS, 50 * MS, 0);
    table.arrivalCopies[slot] = 0;
    const infer = action({ id: 5, model: 1, batchSize: 2, count: 1 });
    recorder.sent(infer);
    played.step(8 * MS, 40_000);
    played.step(9 * MS, 20_000);
    played.ran(infer);
    recorder.answered(table, slot, OUTCOME_OK, 16 * MS, 1, infer);
    table.release(slot);
    played.step(16 * MS, 30_000);
    const { facts, processes, threads, tracks, arrows, spans, written } = await played.stop(2_000 * MS);

    expect(facts).toMatchObject({ host: 'here', seconds: 2, droppedEvents: 0 });
    expect([...processes.values()]).toEqual([
      'controller',
      'GPU 0 (worker local, cpu)',
      'GPU 1 (worker far:1, cpu)',
    ]);
    expect([...threads.values()]).toEqual(['decisions', 'EXEC', 'WEIGHTS', 'EXEC', 'WEIGHTS']);
    // What did nothing is left out.
    expect(tracks.get(1000)?.map(({ event }) => event.args)).toEqual([
      { arrived: 1, results: 0, answered: 0, sent: 1 },
      { arrived: 0, results: 1, answered: 1, sent: 0 },
    ]);
    expect(named(tracks.get(EXEC_0))).toEqual([['two ×2', 10 * MS, 15 * MS - 1]]);
    expect(arrows.map(({ from, to }) => [from.beginNs, to.beginNs])).toEqual([[8 * MS, 10 * MS]]);
    expect(spans.map(({ begin, end }) => [begin.name, begin.ts, end.ts])).toEqual([
      ['request ok', 7_000, 16_000],
      ['EXEC window', 8_000, 18_000],
    ]);
    expect(spans[0].begin.args).toEqual({ model: 'two', outcome: 'ok', sloMs: 50, cold: true, action: 5 });
    expect(written).toMatchObject({ seconds: 2, dropped: 0 });
    expect(played.said).toEqual(['started', 'written true']);
  });

  it('shows the way of an INFER through the device', async () => {
    const played = record();
    played.ran(action({ id: 5 }), { copyInNs: 100_000, copyOutNs: 200_000 });
    const { tracks } = await played.stop(20 * MS);
    expect(named(tracks.get(EXEC_0))).toEqual([
      [
        'one ×1',
        10_000_000,
        14_999_999,
        [
          ['copy-in', 10_000_000, 10_099_999],
          ['run', 10_100_000, 14_799_997],
          ['copy-out', 14_799_998, 14_999_998],
        ],
      ],
    ]);
  });

  it('marks what did not run', async () => {
    const played = record();
    played.ran(action({ id: 1, status: STATUS_INFER_TOO_LATE, beginNs: 19 * MS, endNs: 19 * MS }));
    const lost = action({
      id: 2,
      kind: LOAD,
      status: STATUS_WORKER_LOST,
      latestNs: Number.POSITIVE_INFINITY,
    });
    played.recorder.completed(lost, 30 * MS);
    // Only who was lost: all others come through `ran`.
    played.recorder.completed(action({ id: 3 }), 31 * MS);
    const { tracks, events, spans } = await played.stop(40 * MS);
    expect(tracks.size).toBe(0);
    const marks = events.filter(({ ph, cat }) => ph === 'i' && cat !== 'recording');
    expect(marks.map(({ name, tid, ts, args }) => [name, tid, ts, args.status])).toEqual([
      ['one ×1', EXEC_0, 19_000, 'too_late'],
      ['LOAD one', WEIGHTS_0, 30_000, 'worker_lost'],
    ]);
    // A window without end is drawn to the end of the recording.
    expect(spans.map(({ begin, end }) => [begin.name, end.ts])).toEqual([
      ['EXEC window', 18_000],
      ['WEIGHTS window', 40_000],
    ]);
  });

  it('does not push a LOAD aside for an UNLOAD during it', async () => {
    const played = record();
    played.ran(action({ id: 1, kind: UNLOAD, model: 1, beginNs: 12 * MS, endNs: 12 * MS }));
    played.ran(action({ id: 2, kind: LOAD }));
    const { tracks, events, spans } = await played.stop(40 * MS);
    expect(named(tracks.get(WEIGHTS_0))).toEqual([['LOAD one', 10 * MS, 15 * MS - 1]]);
    expect(events.filter(({ cat }) => cat === 'UNLOAD').map(({ ph, name }) => [ph, name])).toEqual([
      ['i', 'UNLOAD two'],
    ]);
    expect(spans).toHaveLength(1);
  });

  it('nests whatever the clocks say', async () => {
    const played = record();
    const { recorder } = played;
    const times: readonly (readonly [begin: number, end: number, copy: number])[] = [
      [10.25, 15, 0.1],
      // Begins before the one before it has ended, and before it was sent.
      [14.9, 16, 3],
      [15.5, 15.9, 1],
      [16, 16.0000001, 0],
      [16, 16, 0],
      [16, 40, 0.000001],
    ];
    times.forEach(([begin, end, copy], i) => {
      const infer = action({ id: i, beginNs: begin * MS, endNs: end * MS });
      recorder.sent(infer);
      played.step(15 * MS + i * 1000, 1000);
      played.ran(infer, { copyInNs: copy * MS, copyOutNs: copy * MS });
    });
    const { tracks, arrows } = await played.stop(20 * MS);
    expect(tracks.get(EXEC_0)).toHaveLength(6);
    expect(arrows.length).toBeGreaterThan(0);
  });
});

describe('recording', () => {
  it('starts once, stops once, and can start again', async () => {
    const played = record();
    expect(played.recordings.recording).toBe(true);
    played.recordings.start();
    const [first, second] = await Promise.all([played.recordings.stop(), played.recordings.stop()]);
    expect(first).toBe(second);
    expect(played.recordings.recording).toBe(false);
    expect(await played.recordings.stop()).toBeNull();
    played.recordings.start();
    await played.recordings.stop();
    expect(played.said.filter((what) => /start/.test(what))).toEqual([...['started', 'started']]);
  });

  it('sees nothing before it starts and after it has stopped', async () => {
    const played = new Played();
    played.ran(action({ id: 1 }));
    played.recordings.start();
    played.ran(action({ id: 2 }));
    const stopped = played.stop(MS);
    played.ran(action({ id: 3 }));
    const { tracks } = await stopped;
    expect(tracks.get(EXEC_0)?.map(({ event }) => event.args.action)).toEqual([2]);
  });

  it('ends by itself', async () => {
    vi.useFakeTimers();
    try {
      const played = record();
      await vi.advanceTimersByTimeAsync(59_000);
      expect(played.recordings.recording).toBe(true);
      await vi.advanceTimersByTimeAsync(2_000);
      expect(played.said).toContain('written true');
      expect(existsSync(played.path)).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });

  it('says so where its file cannot be written, and leaves nothing behind', async () => {
    const played = record();
    Object.assign(played, { path: '/dev/null/recording.json' });
    await played.recordings.stop();
    expect(() => played.recordings.start()).toThrow(expect.objectContaining({ code: 'E_FILE_WRITE' }));
    expect(played.said.at(-1)).toMatch(/^failed: .*cannot be written/);
    expect(played.recordings.recording).toBe(false);
  });

  it('says so where its folder is gone when it ends', async () => {
    const played = record();
    await played.recordings.stop();
    Object.assign(played, { path: join(dirname(played.path), 'gone', 'recording.json') });
    played.recordings.start();
    rmSync(dirname(played.path), { recursive: true });
    writeFileSync(dirname(played.path), 'no folder');
    await expect(played.recordings.stop()).rejects.toMatchObject({ code: 'E_FILE_WRITE' });
    expect(played.said.at(-1)).toMatch(/^failed: .*cannot be written/);
    expect(played.recordings.recording).toBe(false);
  });

  it('counts how often a request of an earlier time is answered as well', async () => {
    const played = new Played();
    const { table, recorder } = played;
    const early = table.allocate(0, MS, 10 * MS, 0);
    played.recordings.start();
    const late = table.allocate(0, 2 * MS, 10 * MS, 0);
    recorder.answered(table, early, OUTCOME_TIMEOUT, 3 * MS, 0, null);
    table.release(early);
    played.step(3 * MS, 5_000);
    const { tracks, spans } = await played.stop(4 * MS);
    expect(tracks.get(1000)?.[0].event.args).toMatchObject({ arrived: 1, answered: 1 });
    expect(spans.map(({ begin }) => begin.name)).toEqual(['request timeout']);
    expect(table.size).toBe(1);
    table.release(late);
    expect(readdirSync(dirname(played.path))).toEqual(['recording.json']);
  });

  it('keeps its size', () => {
    const recording = new Recording(0, 3);
    const { steps } = recording;
    const counts = { arrived: 1, answered: 1, results: 0, sent: 0 };
    for (let begin = 0; begin < 5; begin++) recording.add(steps, { begin, took: 1, ...counts });
    expect([[...steps.rows()].map(({ begin }) => begin), recording.dropped]).toEqual([[0, 1, 2], 2]);
  });
});
