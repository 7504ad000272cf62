import { describe, expect, it } from 'vitest';
import type { TimelineEntry } from '../../../src/record/results.js';
import { drawnPart, gpuTimeline } from '../../../src/report/charts/gpu-timeline.js';
import { cellFixture } from '../fixtures.js';

const { timeline } = cellFixture({ sloMs: 100, goodputRps: 500, gpus: 8 });

describe('drawnPart', () => {
  it('draws the same chart as all of the slice', () => {
    const part = drawnPart(timeline);
    expect(part.length).toBeLessThan(timeline.length / 2);
    expect(gpuTimeline(part)).toEqual(gpuTimeline(timeline));
    expect(drawnPart(part)).toEqual(part);
  });

  it('is nothing of nothing', () => {
    expect(drawnPart([])).toEqual([]);
  });
});

describe('the worst moment', () => {
  const worst = { fromMs: 30, toMs: 130, missed: 7 };

  it('is where the chart begins, with what runs then', () => {
    const spec = gpuTimeline(bars(['resnet50-3'], 40), { worst });
    const begins = values(spec, 'begin').sort((a, b) => a - b);
    expect(begins[0]).toBe(27);
    expect(begins.at(-1)).toBe(75);
    expect(JSON.stringify(spec)).toContain(
      'begins in the second with the most misses: 7 within 100 ms from 30.0 ms on',
    );
    expect(JSON.stringify(spec)).toContain('EXEC busy 100 %');
  });

  it('is drawn the same of what a sweep keeps of it', () => {
    const all = bars(['resnet50-3', 'resnet50-12'], 40);
    expect(drawnPart(all, worst).length).toBeLessThan(all.length / 2);
    expect(gpuTimeline(drawnPart(all, worst), { worst })).toEqual(gpuTimeline(all, { worst }));
  });

  it('may have no action', () => {
    const spec = gpuTimeline(bars(['resnet50-3'], 2), { worst });
    expect(JSON.stringify(spec)).toContain('EXEC busy 0 %');
  });
});

describe('labels', () => {
  it('are numbers of instances only where all are of one model', () => {
    const wide = bars(['resnet50-3', 'resnet50-12']);
    expect(labels(gpuTimeline(wide))).toEqual(['resnet50-3 ×1', 'resnet50-12 ×1']);
    expect(labels(gpuTimeline(bars(['resnet50-3', 'resnet50-12'], 17)))).toContain('#12 ×1');
    const zoo = labels(gpuTimeline(bars(['resnet50-3', 'vgg16-3'], 17)));
    expect(zoo.filter((label) => label.includes('#'))).toEqual([]);
  });

  it('have as much of the name as there is room for, and the batch', () => {
    expect(labels(gpuTimeline(bars(['resnet50-3', 'vgg16-3'], 6)))).toEqual(['resn… ×1', 'vgg1… ×1']);
    expect(labels(gpuTimeline(bars(['resnet50-3', 'vgg16-3'], 17)))).toEqual(['']);
  });
});

/** INFERs of these models by turns, `times` each, one after the other. */
function bars(models: readonly string[], times = 1): TimelineEntry[] {
  return Array.from({ length: times }, () => models)
    .flat()
    .map((model, i) => ({
      gpu: 0,
      lane: 'EXEC',
      kind: 'INFER',
      model,
      batch: 1,
      beginMs: 3 * i,
      endMs: 3 * i + 3,
      earliestMs: 3 * i,
      latestMs: 3 * i + 5,
      sentMs: 3 * i,
      status: 0,
    }));
}

function labels(spec: ReturnType<typeof gpuTimeline>): string[] {
  const { layer } = spec as unknown as { layer: { data: { values: { label?: string }[] } }[] };
  return [...new Set(layer.flatMap(({ data }) => data.values.flatMap(({ label }) => label ?? [])))];
}

/** Numbers of a field of all rows that are drawn as bars. */
function values(spec: ReturnType<typeof gpuTimeline>, field: string): number[] {
  const { layer } = spec as unknown as { layer: { data: { values: Record<string, number>[] } }[] };
  return layer[2]?.data.values.map((row) => row[field] as number) ?? [];
}
