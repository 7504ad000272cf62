import { writeWhole } from '../../base/files/output-file.js';
import type { RunResult, SweepResults } from '../../record/results.js';
import {
  comparisonCharts,
  fleetCharts,
  type NamedChart,
  policyCharts,
  runCharts,
  sweepCharts,
} from '../charts/chart-sets.js';
import { compareRuns } from '../compare/compare.js';
import type { NamedRun } from '../compare/named-run.js';
import { REPORT } from '../files.js';
import type { RankedFleet } from '../fleets.js';
import type { PageChart } from '../html/page.js';
import { renderSvg } from '../html/render.js';
import type { PolicyComparison } from '../policies/compare.js';
import { comparisonPage } from './compare-page.js';
import { fleetsPage } from './fleets-page.js';
import { policiesPage } from './policies-page.js';
import { policyNotes } from './policy-notes.js';
import { runPage } from './run-page.js';
import { sweepPage } from './sweep-page.js';
import { writeReport } from './write-report.js';

/**
 * Writes `report.html` and `charts/NAME.{svg,png,vl.json}` of a sweep into `dir`; returns the paths, the report first.
 * Equal results give equal bytes. Throws `E_FILE_WRITE`.
 */
export async function writeSweepReport(results: SweepResults, dir: string): Promise<string[]> {
  return writeReport(sweepCharts(results), dir, REPORT, (charts) => sweepPage(results, charts));
}

/** Writes the report and charts of one run, like `writeSweepReport`. */
export async function writeRunReport(run: RunResult, dir: string): Promise<string[]> {
  return writeReport(runCharts(run), dir, REPORT, (charts) => runPage(run, charts));
}

/** Writes a comparison of runs, with its charts inside, as the HTML document `file`. Throws `E_FILE_WRITE`. */
export async function writeComparison(runs: readonly NamedRun[], file: string): Promise<void> {
  const notes = policyNotes(runs.map(({ run }) => run.summary));
  writeWhole(file, comparisonPage(compareRuns(runs), await draw(comparisonCharts(runs)), notes));
}

/** Writes a comparison of policies, with its charts inside, as the HTML document `file`. Throws `E_FILE_WRITE`. */
export async function writePolicyComparison(
  comparison: PolicyComparison,
  file: string,
  version: string,
): Promise<void> {
  writeWhole(file, policiesPage(comparison, await draw(policyCharts(comparison)), version));
}

/** Writes a comparison of fleets, with its chart inside, as the HTML document `file`. Throws `E_FILE_WRITE`. */
export async function writeFleetComparison(
  name: string,
  fleets: readonly RankedFleet[],
  file: string,
): Promise<void> {
  writeWhole(file, fleetsPage(name, fleets, await draw(fleetCharts(fleets))));
}

async function draw(charts: readonly NamedChart[]): Promise<PageChart[]> {
  const drawn: PageChart[] = [];
  for (const { name, spec } of charts) drawn.push({ name, spec, svg: await renderSvg(spec) });
  return drawn;
}
