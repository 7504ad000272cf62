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
import { documentPage } from '../html/document-page.js';
import type { PageChart } from '../html/page.js';
import { renderSvg } from '../html/render.js';
import type { PolicyComparison } from '../policies/compare.js';
import { compareDocument, fleetsDocument } from './compare-document.js';
import { policiesDocument } from './policies-document.js';
import { runDocument } from './run-document.js';
import { sweepDocument } from './sweep-document.js';
import { writeReport } from './write-report.js';

/**
 * Writes `report.html` and `charts/NAME.{svg,png,vl.json}` of a sweep into `dir`; returns the paths, the report first.
 * Equal results give equal bytes. Throws `E_FILE_WRITE`.
 */
export async function writeSweepReport(results: SweepResults, dir: string): Promise<string[]> {
  return writeReport(sweepCharts(results), dir, REPORT, (charts) =>
    documentPage(sweepDocument(results), charts),
  );
}

/** Writes the report and charts of one run, like `writeSweepReport`. */
export async function writeRunReport(run: RunResult, dir: string): Promise<string[]> {
  return writeReport(runCharts(run), dir, REPORT, (charts) => documentPage(runDocument(run), charts));
}

/** Writes a comparison of runs, with its charts inside, as the HTML document `file`. Throws `E_FILE_WRITE`. */
export async function writeComparison(runs: readonly NamedRun[], file: string): Promise<void> {
  const summaries = runs.map(({ run }) => run.summary);
  const document = compareDocument(compareRuns(runs), summaries);
  writeWhole(file, documentPage(document, await draw(comparisonCharts(runs))));
}

/** Writes a comparison of policies, with its charts inside, as the HTML document `file`. Throws `E_FILE_WRITE`. */
export async function writePolicyComparison(comparison: PolicyComparison, file: string): Promise<void> {
  writeWhole(file, documentPage(policiesDocument(comparison), await draw(policyCharts(comparison))));
}

/** Writes a comparison of fleets, with its chart inside, as the HTML document `file`. Throws `E_FILE_WRITE`. */
export async function writeFleetComparison(
  name: string,
  fleets: readonly RankedFleet[],
  file: string,
): Promise<void> {
  writeWhole(file, documentPage(fleetsDocument(name, fleets), await draw(fleetCharts(fleets))));
}

async function draw(charts: readonly NamedChart[]): Promise<PageChart[]> {
  const drawn: PageChart[] = [];
  for (const { name, spec } of charts) drawn.push({ name, spec, svg: await renderSvg(spec) });
  return drawn;
}
