import { type ErrorPlace, EscapementError } from '../../base/errors.js';
import { buildExperiment } from '../../config/build.js';
import type { SourceDocument } from '../../config/document.js';
import { ON_DISK } from '../../config/files-on-disk.js';
import { textOf } from '../../config/keys.js';
import { readExperimentSource } from '../../config/load.js';
import { type CaseAxis, caseKeys } from '../../config/sweep-section.js';
import type { SweepResults, VariedKey } from '../../record/results.js';
import { parseThreshold } from '../../record/threshold.js';
import { groupBy } from '../../report/lists.js';
import { buildGrid, cellId } from './grid.js';
import { type PlannedCell, planCells } from './plan.js';
import { chooseAxes, parseSeeds } from './vary.js';

/** Inputs that decide the cells of a sweep and their results. */
export interface SweepQuestion {
  readonly file: string;
  /** `--vary` flags, which choose among cases, or else replace the varied keys of the file's sweep section. */
  readonly vary: readonly string[];
  /** `--seeds`; undefined: the file's sweep section, else the experiment's seed. */
  readonly seeds: string | undefined;
  /** `--set` flags, for every cell. */
  readonly overrides: readonly string[];
  /** Version of the program: results of another version are not reused. */
  readonly version: string;
  /** Thresholds that a choice must meet to be recommended, as written. */
  readonly required: readonly string[];
}

/** Description of a sweep, for the record in `results.json`. */
export type SweepHeader = Omit<SweepResults, 'version' | 'cells'>;

interface PlannedSweep {
  readonly header: SweepHeader;
  readonly planned: readonly PlannedCell[];
}

/** Reads a sweep and checks every cell. Throws errors of the experiment and the flags. */
export async function planSweep(question: SweepQuestion): Promise<PlannedSweep> {
  const { file, overrides, version } = question;
  const thresholds = question.required.map((text) => parseThreshold(text));
  const source = await readExperimentSource(file);
  const { header, cases, bound, placeOf } = await describeSweep(source, question);
  const grid = buildGrid(header.vary, header.seeds);
  const planned = await planCells(grid, {
    ...{ source, cases, overrides, bound, version, thresholds, placeOf },
    metrics: thresholds.map(({ metric }) => metric),
  });
  const merged = mergeCells(planned, header.vary);
  const idle = header.vary.find(
    ({ key, values }) => values.length > 1 && merged.every(({ cell }) => !Object.hasOwn(cell.values, key)),
  );
  if (idle === undefined) return { header, planned: merged };
  const what = `no cell depends on ${idle.key}: leave it out, or vary the kind of its section too`;
  throw new EscapementError('E_CONFIG_KEY', what, placeOf(idle.key, idle.values.join()));
}

interface DescribedSweep {
  readonly header: SweepHeader;
  readonly cases: readonly CaseAxis[];
  readonly bound: boolean;
  /** Where a value of a varied key is written. */
  placeOf(key: string, value: string): ErrorPlace;
}

async function describeSweep(source: SourceDocument, question: SweepQuestion): Promise<DescribedSweep> {
  const { file, overrides, required, version } = question;
  const { name, seed, sweep, writtenValue } = await buildExperiment(source, { overrides, host: ON_DISK });
  const { cases, vary } = chooseAxes(question.vary, sweep ?? undefined);
  const seeds = question.seeds !== undefined ? parseSeeds(question.seeds) : (sweep?.seeds ?? [seed]);
  const axes = [...caseKeys(cases), ...vary];
  if (axes.length === 0 && seeds.length === 1) {
    throw new EscapementError('E_USAGE', 'nothing to sweep: add a sweep section, --vary or --seeds', {
      file,
    });
  }
  const defaults = axes.flatMap(({ key }) => {
    const text = textOf(writtenValue(key));
    return text === undefined ? [] : [[key, text] as const];
  });
  const header = {
    escapement: version,
    name,
    experiment: source.text,
    ...(overrides.length === 0 ? {} : { overrides }),
    ...(required.length === 0 ? {} : { required }),
    defaults: Object.fromEntries(defaults),
    vary: axes,
    seeds,
  };
  const placeOf = (key: string, value: string) =>
    vary === sweep?.vary
      ? { ...source.placeOf(['sweep', 'vary', key]), key: `sweep.vary.${key}` }
      : { flag: `--vary ${key}=${value}` };
  return { header, cases, bound: sweep?.bound ?? false, placeOf };
}

/**
 * Merges cells that differ only in a key without effect, such as an option that their policy does not have: the same
 * experiment with the same seed is the same run. The merged cell does not have the key. A key with an effect for some
 * of its values stays in all of them.
 */
export function mergeCells(planned: readonly PlannedCell[], vary: readonly VariedKey[]): PlannedCell[] {
  return vary
    .filter(({ values }) => values.length > 1)
    .reduce<PlannedCell[]>((cells, varied) => mergeOver(varied, cells), [...planned]);
}

function mergeOver({ key, values }: VariedKey, cells: readonly PlannedCell[]): PlannedCell[] {
  const groupOf = ({ cell }: PlannedCell): string => JSON.stringify([without(key, cell.values), cell.seed]);
  const groups = groupBy(cells, groupOf);
  return cells.flatMap((planned) => {
    const [first, ...others] = groups.get(groupOf(planned)) as [PlannedCell, ...PlannedCell[]];
    const { cell, task } = planned;
    const isSame = (other: PlannedCell) => other.task !== null && other.task.key === first.task?.key;
    if (others.length + 1 < values.length || task === null || !others.every(isSame)) return [planned];
    if (planned !== first) return [];
    const left = without(key, cell.values);
    return [{ ...planned, cell: { ...cell, values: left, id: cellId(left, cell.seed) } }];
  });
}

function without(key: string, values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([other]) => other !== key));
}
