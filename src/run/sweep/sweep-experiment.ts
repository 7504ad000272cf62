import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { makeFolder } from '../../base/files/make-folder.js';
import { cannotWrite, writeWhole } from '../../base/files/output-file.js';
import { type CaseAxis, caseKeys } from '../../config/cases.js';
import type { SourceDocument } from '../../config/document.js';
import { defaultText } from '../../config/keys.js';
import { buildExperiment, readExperimentSource } from '../../config/load.js';
import { applyOverrides } from '../../config/overrides.js';
import { loadPlugins, type Plugin } from '../../config/plugins.js';
import { readSweepSection } from '../../config/sweep-section.js';
import type { SweepResults, VariedKey } from '../../record/results.js';
import { dropReport } from '../../report/files.js';
import { CellStore } from './cell-store.js';
import { buildGrid } from './grid.js';
import { mergeCells } from './merge-cells.js';
import { planCells } from './plan.js';
import { threadPool } from './pool.js';
import { resultsCsv } from './results-csv.js';
import { type OnCell, runSweep, type SweepHeader } from './sweep.js';
import { chooseAxes, parseSeeds } from './vary.js';

interface SweepRequest {
  readonly file: string;
  /** `--vary` flags, which choose among cases, and else replace what the file's sweep section varies. */
  readonly vary: readonly string[];
  /** `--seeds`; undefined: the file's sweep section, else the experiment's seed. */
  readonly seeds: string | undefined;
  /** `--set` flags, for every cell. */
  readonly overrides: readonly string[];
  readonly outDir: string;
  readonly threads: number;
  /** Runs finished cells again. */
  readonly fresh: boolean;
  /** Version of the program: results of another version are not reused. */
  readonly version: string;
  /** Percentiles that every summary shall have beyond those that all have, ascending. */
  readonly percentiles: readonly number[];
  /** Thresholds that a choice must meet to be recommended, as written. */
  readonly required: readonly string[];
  /** Called once, when every cell was checked and before the first one runs. */
  readonly onPlan: (cells: number, seeds: readonly number[]) => void;
  readonly onCell: OnCell;
}

/**
 * Runs a sweep and writes `results.json` and `results.csv`. Both are the same bytes whatever the number
 * of threads and however often the sweep was interrupted. Throws what is wrong with the experiment or
 * the flags before any cell runs; cells that fail are in the results.
 */
export async function sweepExperiment(request: SweepRequest): Promise<SweepResults> {
  const { file, overrides, outDir, version, percentiles } = request;
  const source = await readExperimentSource(file);
  const { header, cases, bound } = await describeSweep(source, request);
  const grid = buildGrid(header.vary, header.seeds);
  const planned = mergeCells(
    await planCells(grid, { source, cases, overrides, bound, version, percentiles }),
    header.vary,
  );
  const store = new CellStore(outDir, !request.fresh);
  request.onPlan(planned.length, header.seeds);
  prepareFolder(outDir);
  const runner = threadPool(Math.min(request.threads, planned.length));
  try {
    const results = await runSweep(header, planned, store, runner, request.onCell);
    writeWhole(join(outDir, 'results.csv'), resultsCsv(results));
    writeWhole(join(outDir, 'results.json'), `${JSON.stringify(results)}\n`);
    return results;
  } finally {
    await runner.close();
  }
}

interface DescribedSweep {
  readonly header: SweepHeader;
  readonly cases: readonly CaseAxis[];
  readonly bound: boolean;
}

async function describeSweep(source: SourceDocument, request: SweepRequest): Promise<DescribedSweep> {
  const { file, overrides, required, version } = request;
  const plugins = await loadPlugins(source, overrides);
  const section = readSweepSection(source, overrides, plugins);
  const { cases, vary } = chooseAxes(request.vary, section);
  const { name, seed } = await buildExperiment(source, overrides);
  const seeds = request.seeds !== undefined ? parseSeeds(request.seeds) : (section?.seeds ?? [seed]);
  const axes = [...caseKeys(cases), ...vary];
  if (axes.length === 0 && seeds.length === 1) {
    throw new EscapementError('E_USAGE', 'nothing to sweep: add a sweep section, --vary or --seeds', {
      file,
    });
  }
  const { tree } = applyOverrides(source, overrides, [], plugins);
  const header = {
    escapement: version,
    name,
    experiment: source.text,
    ...(overrides.length === 0 ? {} : { overrides }),
    ...(required.length === 0 ? {} : { required }),
    defaults: defaultsOf(tree, axes, plugins),
    vary: axes,
    seeds,
  };
  return { header, cases, bound: section?.bound ?? false };
}

function defaultsOf(
  tree: unknown,
  vary: readonly VariedKey[],
  plugins: readonly Plugin[],
): Record<string, string> {
  const defaults: Record<string, string> = {};
  for (const { key } of vary) {
    const text = defaultText(tree, key, plugins);
    if (text !== undefined) defaults[key] = text;
  }
  return defaults;
}

/** Makes the folder. Until this sweep ends, it must not look as if it had. Throws `E_FILE_WRITE`. */
function prepareFolder(outDir: string): void {
  try {
    makeFolder(outDir);
    for (const name of ['results.json', 'results.csv']) rmSync(join(outDir, name), { force: true });
  } catch (error) {
    throw cannotWrite(outDir, error);
  }
  dropReport(outDir);
}
