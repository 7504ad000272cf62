import { writeWhole } from '../files/output-file.js';
import type { RunResult, SweepResults } from '../metrics/results.js';
import { comparisonCharts, policyCharts, runCharts, sweepCharts } from './chart-sets.js';
import { compareRuns, type NamedRun } from './compare/compare.js';
import { comparisonPage } from './compare/page.js';
import { REPORT } from './files.js';
import type { PageChart } from './html/page.js';
import type { PolicyComparison } from './policies/compare.js';
import { policiesPage } from './policies/page.js';
import { renderSvg } from './render.js';
import { runPage } from './run-page.js';
import { sweepPage } from './sweep-page.js';
import { writeReport } from './write-report.js';

export { type CommonChoice, commonChoice, type Recommendation, recommend } from './analyze.js';
export { comparisonCharts, type NamedChart, policyCharts, runCharts, sweepCharts } from './chart-sets.js';
export type { ChartSpec } from './charts/theme.js';
export {
  type ComparedFigure,
  type ComparedRun,
  type Comparison,
  compareRuns,
  type NamedRun,
} from './compare/compare.js';
export { comparisonText } from './compare/text.js';
export {
  checkTolerances,
  parseTolerance,
  type Tolerance,
  type ToleranceResult,
} from './compare/tolerance.js';
export { type LoadedResults, loadResults } from './load.js';
export type { GroupPoint, Point } from './points.js';
export { comparePolicies, type PolicyComparison } from './policies/compare.js';
export { type PolicyCost, readCosts } from './policies/costs.js';
export type { NamedSweep } from './policies/merge.js';
export { policiesText } from './policies/text.js';
export { renderPng, renderSvg } from './render.js';
export { summaryText } from './summary-text.js';

/**
 * Writes `report.html` and `charts/NAME.{svg,png,vl.json}` of a sweep into `dir`; returns the paths, the
 * report first. The same results give the same bytes. Throws `E_FILE_WRITE`.
 */
export async function writeSweepReport(results: SweepResults, dir: string): Promise<string[]> {
  return writeReport(sweepCharts(results), dir, REPORT, (charts) => sweepPage(results, charts));
}

/** The same for one run. */
export async function writeRunReport(run: RunResult, dir: string): Promise<string[]> {
  return writeReport(runCharts(run), dir, REPORT, (charts) => runPage(run, charts));
}

/** Writes a comparison of runs, with its charts inside, as the HTML document `file`. Throws `E_FILE_WRITE`. */
export async function writeComparison(runs: readonly NamedRun[], file: string): Promise<void> {
  const drawn: PageChart[] = [];
  for (const { name, spec } of comparisonCharts(runs)) drawn.push({ name, spec, svg: await renderSvg(spec) });
  writeWhole(file, comparisonPage(compareRuns(runs), drawn));
}

/** Writes a comparison of policies, with its charts inside, as the HTML document `file`. Throws `E_FILE_WRITE`. */
export async function writePolicyComparison(
  comparison: PolicyComparison,
  file: string,
  version: string,
): Promise<void> {
  const drawn: PageChart[] = [];
  for (const { name, spec } of policyCharts(comparison))
    drawn.push({ name, spec, svg: await renderSvg(spec) });
  writeWhole(file, policiesPage(comparison, drawn, version));
}
