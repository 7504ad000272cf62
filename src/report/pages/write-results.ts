import { join } from 'node:path';
import { writeWhole } from '../../base/files/output-file.js';
import type { RunResult, SweepResults } from '../../record/results.js';
import {
  comparisonCharts,
  type NamedChart,
  policyCharts,
  runCharts,
  sweepCharts,
} from '../charts/chart-sets.js';
import { compareRuns, type NamedRun } from '../compare/compare.js';
import type { Document } from '../document.js';
import { documentPage, drawCharts } from '../html/page.js';
import { renderSvg, svgToPng } from '../html/render.js';
import { CHART_ENDINGS, CHARTS, dropCharts, REPORT } from '../load.js';
import type { PolicyComparison } from '../policies/compare.js';
import { compareDocument } from './compare-document.js';
import { policiesDocument } from './policies-document.js';
import { runDocument } from './run-document.js';
import { sweepDocument } from './sweep-document.js';

/**
 * Writes `report.html` and `charts/NAME.{svg,png,vl.json}` of a sweep into `dir`; returns the paths, the report first.
 * Equal results give equal bytes. Throws `E_FILE_WRITE`.
 */
export async function writeSweepReport(results: SweepResults, dir: string): Promise<string[]> {
  return writeReport(sweepDocument(results), sweepCharts(results), dir);
}

/** Writes the report and charts of one run, like `writeSweepReport`. */
export async function writeRunReport(run: RunResult, dir: string): Promise<string[]> {
  return writeReport(runDocument(run), runCharts(run), dir);
}

/** Writes a comparison of runs, with its charts inside, as the HTML document `file`. Throws `E_FILE_WRITE`. */
export async function writeComparison(runs: readonly NamedRun[], file: string): Promise<void> {
  const summaries = runs.map(({ run }) => run.summary);
  const document = compareDocument(compareRuns(runs), summaries);
  writeWhole(file, documentPage(document, await drawCharts(comparisonCharts(runs))));
}

/** Writes a comparison of policies, with its charts inside, as the HTML document `file`. Throws `E_FILE_WRITE`. */
export async function writePolicyComparison(comparison: PolicyComparison, file: string): Promise<void> {
  writeWhole(file, documentPage(policiesDocument(comparison), await drawCharts(policyCharts(comparison))));
}

async function writeReport(
  document: Document,
  charts: readonly NamedChart[],
  dir: string,
): Promise<string[]> {
  const drawn = await drawCharts(charts);
  const files: string[] = [];
  for (const { name, spec } of drawn) {
    const path = join(dir, CHARTS, name);
    const svg = await renderSvg(spec);
    const contents = [`${svg}\n`, svgToPng(svg), `${JSON.stringify(spec, null, 2)}\n`];
    for (const [i, ending] of [CHART_ENDINGS.svg, CHART_ENDINGS.png, CHART_ENDINGS.spec].entries()) {
      writeWhole(`${path}${ending}`, contents[i]!);
      files.push(`${path}${ending}`);
    }
  }
  // Charts of an earlier report would seem to belong to this one.
  dropCharts(
    dir,
    drawn.map(({ name }) => name),
  );
  // The page comes last: once it exists, its charts do too.
  const page = join(dir, REPORT);
  writeWhole(page, documentPage(document, drawn));
  return [page, ...files];
}
