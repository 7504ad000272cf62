import { join } from 'node:path';
import { writeWhole } from '../../files/output-file.js';
import { CHART_ENDINGS, CHARTS, dropCharts } from '../../report/files.js';
import type { PageChart } from '../../report/html/page.js';
import { renderSvg, svgToPng } from '../../report/render.js';
import { scalingCharts } from './charts.js';
import { scalingPage } from './page.js';
import type { ScalingResult } from './result.js';

/** Files of a scaling benchmark in its folder, besides its charts. */
export const SCALING_JSON = 'scaling.json';
export const SCALING_PAGE = 'scaling.html';

/** Writes results, charts and the page with both into a folder. Throws `E_FILE_WRITE`. */
export async function writeScaling(result: ScalingResult, dir: string): Promise<void> {
  writeWhole(join(dir, SCALING_JSON), `${JSON.stringify(result, null, 2)}\n`);
  const charts: PageChart[] = [];
  for (const { name, spec } of scalingCharts(result)) {
    const svg = await renderSvg(spec);
    const path = join(dir, CHARTS, name);
    writeWhole(`${path}${CHART_ENDINGS.svg}`, `${svg}\n`);
    writeWhole(`${path}${CHART_ENDINGS.png}`, svgToPng(svg));
    writeWhole(`${path}${CHART_ENDINGS.spec}`, `${JSON.stringify(spec, null, 2)}\n`);
    charts.push({ name, spec, svg });
  }
  dropCharts(
    dir,
    charts.map(({ name }) => name),
  );
  writeWhole(join(dir, SCALING_PAGE), scalingPage(result, charts));
}
