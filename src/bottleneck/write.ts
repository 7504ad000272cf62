import { join } from 'node:path';
import { writeWhole } from '../files/output-file.js';
import { CHART_ENDINGS, CHARTS } from '../report/files.js';
import type { PageChart } from '../report/html/page.js';
import { renderSvg, svgToPng } from '../report/render.js';
import { benchCharts } from './charts.js';
import { benchPage } from './page.js';
import type { BenchResult } from './result.js';

/** Files of a benchmark in its folder, besides its charts. */
export const BENCH_JSON = 'bench.json';
export const BENCH_PAGE = 'bench.html';

/** Writes results, charts and the page with both into a folder. Throws `E_FILE_WRITE`. */
export async function writeBench(result: BenchResult, dir: string): Promise<void> {
  writeWhole(join(dir, BENCH_JSON), `${JSON.stringify(result, null, 2)}\n`);
  const charts: PageChart[] = [];
  for (const { name, spec } of benchCharts(result)) {
    const svg = await renderSvg(spec);
    const path = join(dir, CHARTS, name);
    writeWhole(`${path}${CHART_ENDINGS.svg}`, `${svg}\n`);
    writeWhole(`${path}${CHART_ENDINGS.png}`, svgToPng(svg));
    writeWhole(`${path}${CHART_ENDINGS.spec}`, `${JSON.stringify(spec, null, 2)}\n`);
    charts.push({ name, spec, svg });
  }
  writeWhole(join(dir, BENCH_PAGE), benchPage(result, charts));
}
