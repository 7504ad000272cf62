import { EscapementError } from '../../base/errors.js';
import { buildExperiment } from '../../config/build.js';
import type { SourceDocument } from '../../config/document.js';
import { ON_DISK } from '../../config/files-on-disk.js';
import { defaultText } from '../../config/keys.js';
import { readExperimentSource } from '../../config/load.js';
import { applyOverrides } from '../../config/overrides.js';
import { loadPlugins, type Plugin } from '../../config/plugins.js';
import { type CaseAxis, caseKeys, readSweepSection } from '../../config/sweep-section.js';
import type { SweepResults, VariedKey } from '../../record/results.js';
import { parseThreshold } from '../../record/threshold.js';
import { buildGrid } from './grid.js';
import { mergeCells } from './merge-cells.js';
import { type PlannedCell, planCells } from './plan.js';
import { chooseAxes, parseSeeds } from './vary.js';

/** What decides the cells of a sweep and their results. */
export interface SweepQuestion {
  readonly file: string;
  /** `--vary` flags, which choose among cases, and else replace what the file's sweep section varies. */
  readonly vary: readonly string[];
  /** `--seeds`; undefined: the file's sweep section, else the experiment's seed. */
  readonly seeds: string | undefined;
  /** `--set` flags, for every cell. */
  readonly overrides: readonly string[];
  /** Version of the program: results of another version are not reused. */
  readonly version: string;
  /** Percentiles that every summary shall have beyond those that all have, ascending. */
  readonly percentiles: readonly number[];
  /** Thresholds that a choice must meet to be recommended, as written. */
  readonly required: readonly string[];
}

/** What is swept, for the record in `results.json`. */
export type SweepHeader = Omit<SweepResults, 'version' | 'cells'>;

interface PlannedSweep {
  readonly header: SweepHeader;
  readonly planned: readonly PlannedCell[];
  /** Combinations that are left out, as they have no GPU at all. */
  readonly empty: number;
}

/** Reads a sweep and checks every cell. Throws what is wrong with the experiment or the flags. */
export async function planSweep(question: SweepQuestion): Promise<PlannedSweep> {
  const { file, overrides, version, percentiles } = question;
  const source = await readExperimentSource(file);
  const { header, cases, bound } = await describeSweep(source, question);
  const grid = buildGrid(header.vary, header.seeds);
  const all = await planCells(grid, {
    ...{ source, cases, overrides, bound, version, percentiles },
    thresholds: question.required.map(parseThreshold),
  });
  const planned = all.filter((one) => one.task !== null || one.isEmpty !== true);
  const empty = (all.length - planned.length) / header.seeds.length;
  return { header, planned: mergeCells(planned, header.vary), empty };
}

interface DescribedSweep {
  readonly header: SweepHeader;
  readonly cases: readonly CaseAxis[];
  readonly bound: boolean;
}

async function describeSweep(source: SourceDocument, question: SweepQuestion): Promise<DescribedSweep> {
  const { file, overrides, required, version } = question;
  const plugins = await loadPlugins(source, overrides, ON_DISK);
  const section = readSweepSection(source, overrides, plugins);
  const { cases, vary } = chooseAxes(question.vary, section);
  const { name, seed } = await buildExperiment(source, { overrides, host: ON_DISK });
  const seeds = question.seeds !== undefined ? parseSeeds(question.seeds) : (section?.seeds ?? [seed]);
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
