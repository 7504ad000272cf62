import { join } from 'node:path';
import { writeWhole } from '../../base/files/output-file.js';
import { writeReport } from '../../report/pages/write-report.js';
import { benchCharts } from './charts.js';
import { benchPage } from './page.js';
import { BENCH_FILE, type BenchResult } from './result.js';

const PAGE = 'bench.html';

/** Writes results, charts and the page with both into a folder; returns the page's path. Throws `E_FILE_WRITE`. */
export async function writeBench(result: BenchResult, dir: string): Promise<string> {
  writeWhole(join(dir, BENCH_FILE), `${JSON.stringify(result, null, 2)}\n`);
  const [page] = await writeReport(benchCharts(result), dir, PAGE, (charts) => benchPage(result, charts));
  return page;
}
