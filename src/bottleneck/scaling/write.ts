import { join } from 'node:path';
import { writeWhole } from '../../files/output-file.js';
import { writeReport } from '../../report/write-report.js';
import { scalingCharts } from './charts.js';
import { scalingPage } from './page.js';
import type { ScalingResult } from './result.js';

/** Files of a scaling benchmark in its folder, besides its charts. */
const JSON_FILE = 'scaling.json';
const PAGE = 'scaling.html';

/** Writes results, charts and the page with both into a folder; returns the page's path. Throws `E_FILE_WRITE`. */
export async function writeScaling(result: ScalingResult, dir: string): Promise<string> {
  writeWhole(join(dir, JSON_FILE), `${JSON.stringify(result, null, 2)}\n`);
  const [page] = await writeReport(scalingCharts(result), dir, PAGE, (charts) => scalingPage(result, charts));
  return page;
}
