import { parse, type Spec } from 'vega';
import { compile } from 'vega-lite';
import { expect, it } from 'vitest';
import type { CellsResult, Split } from '../../../src/run/cells/cells-result.js';
import type { CellFigures } from '../../../src/run/cells/figures.js';
import { cellsCharts, cellsPage } from '../../../src/run/cells/page.js';

const figures = (attainment: number): CellFigures => ({
  ...{ offeredRps: 100, goodputRps: 100 * attainment, attainment },
  ...{ p99Ms: attainment > 0.99 ? 20 : null, coldStarts: 7 },
});

const split = (cells: number, attainment: number): Split => ({
  cells,
  figures: [figures(attainment), figures(attainment - 0.01)],
  byCell: Array.from({ length: cells }, (_, i) => [figures(attainment - i / 50), figures(attainment)]),
  ...{ targets: [], meets: 'yes', moves: null },
  map: {
    ...{ version: 1, escapement: '1.2.3', name: 'fixture', intervalSeconds: 1 },
    cells: Array.from({ length: cells }, (_, i) => ({
      ...{ name: `cell-${i + 1}`, gpus: `${i}:${i + 1}`, load: 0.5, loadShare: 1 / cells, peakLoad: 1.1 },
      ...{ weightsBytes: 1000, models: [{ name: '<b>', load: 0.5 }] },
    })),
  },
});

const PLAN: CellsResult = {
  ...{ version: 3, kind: 'cells', escapement: '1.2.3', name: 'fixture', policy: 'clockwork' },
  ...{ headline: '2 cells answer less', experiment: 'seed: 1\n', overrides: ['slo=50ms'], targets: [] },
  ...{ seeds: [1, 2], gpus: 4, models: 2, load: 1, whole: [figures(0.995), figures(1)] },
  ...{ splits: [split(2, 0.98), split(4, 0.9)], chosen: 2, notes: ['a note'] },
};

it('the chart compiles without a warning', () => {
  const warnings: string[] = [];
  const note = (...parts: readonly unknown[]) => {
    warnings.push(parts.join(' '));
    return logger;
  };
  const logger = { level: () => logger, error: note, warn: note, info: () => logger, debug: () => logger };
  for (const { spec } of cellsCharts(PLAN)) parse(compile(spec, { logger: logger as never }).spec as Spec);
  expect(warnings).toEqual([]);
});

it('the page has the figures of the cluster and of every cell, and says how to repeat it', async () => {
  const page = await cellsPage(PLAN);
  expect(page).toContain('2 cells answer less');
  expect(page).toContain('The cells of 4');
  expect(page).toMatch(/<td class="n">never<\/td>/);
  expect(page).toContain('a note');
  expect(page).toContain('--cells 2,4');
  expect(page).toContain('--set slo=50ms');
});
