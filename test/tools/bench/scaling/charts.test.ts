import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scalingCharts } from '../../../../src/tools/bench/scaling/charts.js';
import { writeScaling } from '../../../../src/tools/bench/scaling/write.js';
import { resultFixture } from './fixtures.js';

test('draws the speed-up of the same work and the efficiency of growing work next to the ideal', () => {
  const charts = scalingCharts(resultFixture(['strong', 'weak']));
  expect(charts.map(({ name }) => name)).toEqual(['strong-scaling', 'weak-scaling']);
  const values = charts.map(({ spec }) => (spec as unknown as { data: { values: Row[] } }).data.values);
  const rows = (i: number) =>
    values[i].map(({ gpus, ideal, mean }) => [gpus, ideal, Number(mean.toFixed(2))]);
  expect(rows(0)).toEqual([
    [1, 1, 1],
    [2, 2, 1.96],
    [4, 4, 3.09],
  ]);
  expect(rows(1)).toEqual([
    [1, 1, 1],
    [2, 1, 0.98],
    [4, 1, 0.77],
  ]);
  expect(values[0][2]).toMatchObject({ label: '77 %' });
  expect(values[0][2].note).toBe('4 GPUs: 0.330 ± 0.010 s, 3,030 requests/s, 3.09×, efficiency 77 % ± 3');
});

test('writes results, charts and a page', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'escapement-'));
  const result = resultFixture(['strong', 'weak']);
  await writeScaling(result, dir);
  expect(JSON.parse(readFileSync(join(dir, 'scaling.json'), 'utf8'))).toEqual(result);
  expect(readdirSync(join(dir, 'charts')).sort()).toEqual(
    ['strong-scaling', 'weak-scaling'].flatMap((name) => [`${name}.png`, `${name}.svg`, `${name}.vl.json`]),
  );
  const page = readFileSync(join(dir, 'scaling.html'), 'utf8');
  expect(page).toContain('Strong scaling: 77.3 % efficiency on 4 GPUs; 90 % is kept up to 2');
  expect(page).toContain('<svg');
});

interface Row {
  readonly gpus: number;
  readonly ideal: number;
  readonly mean: number;
  readonly label: string;
  readonly note: string;
}
