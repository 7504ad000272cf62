import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LOAD, STATUS_INFER_TOO_LATE } from '../../src/core/action.js';
import { Timeline } from '../../src/record/timeline.js';
import { writeTimeline } from '../../src/record/timeline-file.js';
import { action, complete, MS, RESNET50 } from './fixtures.js';

const SLICE = { slice: [10 * MS, 20 * MS], models: [RESNET50], warmupNs: 0 } as const;

describe('writeTimeline', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'trace-')), 'timeline.json');

  it('shows lanes of each GPU, and windows on tracks of their own', () => {
    const timeline = new Timeline(SLICE);
    complete(timeline, action({ gpu: 1, batchSize: 4, beginNs: 10_000_001 }));
    complete(timeline, action({ gpu: 0, kind: LOAD }));
    complete(timeline, action({ gpu: 0, status: STATUS_INFER_TOO_LATE, beginNs: 19 * MS, endNs: 19 * MS }));
    writeTimeline(path, timeline.entries(), { seed: 1 });

    const trace = JSON.parse(readFileSync(path, 'utf8'));
    expect(trace.otherData).toEqual({ seed: 1 });
    const events: Record<string, unknown>[] = trace.traceEvents;
    const names = events.filter((event) => event.name === 'process_name' || event.name === 'thread_name');
    expect(names.map((event) => (event.args as { name: string }).name)).toEqual([
      ...['GPU 0', 'EXEC', 'WEIGHTS'],
      ...['GPU 1', 'EXEC', 'WEIGHTS'],
    ]);

    const actions = events.filter((event) => event.ph === 'X');
    expect(actions.map(({ name, pid, ts, dur }) => ({ name, pid, ts, dur }))).toEqual([
      { name: 'LOAD resnet50', pid: 2, ts: 10_000, dur: 5_000 },
      { name: 'resnet50 ×4', pid: 3, ts: 10_000.001, dur: 4_999.999 },
      { name: 'resnet50 ×1', pid: 2, ts: 19_000, dur: 0 },
    ]);
    expect(actions[2].args).toMatchObject({ status: 81, model: 'resnet50' });

    const begins = events.filter((event) => event.ph === 'b');
    const ends = events.filter((event) => event.ph === 'e');
    expect(begins.map(({ name, ts }) => [name, ts])).toEqual([
      ['WEIGHTS window', 8_000],
      ['EXEC window', 8_000],
      ['EXEC window', 8_000],
    ]);
    expect(ends.map((event) => event.id)).toEqual(begins.map((event) => event.id));
    expect(new Set(begins.map((event) => event.id)).size).toBe(3);
  });
});
