import { join } from 'node:path';
import { writeWhole } from '../../base/files/output-file.js';
import type { NamedChart } from '../charts/chart-sets.js';
import { CHART_ENDINGS, CHARTS, dropCharts } from '../files.js';
import type { PageChart } from '../html/page.js';
import { renderSvg, svgToPng } from '../html/render.js';

/**
 * Writes `charts/NAME.{svg,png,vl.json}` and the page `file` into `dir`; returns the page, then the rest. Throws
 * `E_FILE_WRITE`.
 */
export async function writeReport(
  charts: readonly NamedChart[],
  dir: string,
  file: string,
  pageOf: (charts: readonly PageChart[]) => string,
): Promise<string[]> {
  const written: string[] = [];
  const write = (path: string, content: string | Uint8Array) => {
    writeWhole(path, content);
    written.push(path);
  };
  const drawn: PageChart[] = [];
  for (const { name, spec } of charts) {
    const svg = await renderSvg(spec);
    const path = join(dir, CHARTS, name);
    write(`${path}${CHART_ENDINGS.svg}`, `${svg}\n`);
    write(`${path}${CHART_ENDINGS.png}`, svgToPng(svg));
    write(`${path}${CHART_ENDINGS.spec}`, `${JSON.stringify(spec, null, 2)}\n`);
    drawn.push({ name, spec, svg });
  }
  // Charts of an earlier report would seem to belong to this one.
  dropCharts(
    dir,
    charts.map(({ name }) => name),
  );
  // The page comes last: once it exists, its charts do too.
  const page = join(dir, file);
  writeWhole(page, pageOf(drawn));
  return [page, ...written];
}
