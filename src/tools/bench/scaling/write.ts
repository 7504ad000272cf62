import { join } from 'node:path';
import { writeWhole } from '../../../base/files/output-file.js';
import { writeReport } from '../../../report/pages/write-report.js';
import { scalingCharts } from './charts.js';
import { scalingPage } from './page.js';
import { SCALING_FILE, type ScalingResult } from './result.js';

const PAGE = 'scaling.html';

/** Writes results, charts and the page with both into a folder; returns the page's path. Throws `E_FILE_WRITE`. */
export async function writeScaling(result: ScalingResult, dir: string): Promise<string> {
  writeWhole(join(dir, SCALING_FILE), `${JSON.stringify(result, null, 2)}\n`);
  const [page] = await writeReport(scalingCharts(result), dir, PAGE, (charts) => scalingPage(result, charts));
  return page;
}
