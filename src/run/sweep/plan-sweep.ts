import { atItsPlace, type ErrorPlace, EscapementError, usageError } from '../../base/errors.js';
import { buildExperiment } from '../../config/build.js';
import type { SourceDocument } from '../../config/document.js';
import type { Experiment } from '../../config/experiment.js';
import { NotedFiles, ON_DISK } from '../../config/files-on-disk.js';
import { textOf } from '../../config/keys.js';
import { readExperimentSource } from '../../config/load.js';
import { isKindKey } from '../../config/overrides.js';
import { partNames } from '../../config/part-names.js';
import { experimentNotes } from '../../config/policy-notes.js';
import {
  type CaseAxis,
  caseKeys,
  chosenCases,
  placeInCase,
  seedList,
  variedValues,
} from '../../config/sweep-section.js';
import { validate } from '../../config/validate.js';
import type { PolicyNote, SweepResults, VariedKey } from '../../record/results.js';
import {
  type PartNames,
  parseThreshold,
  refuseUnknownParts,
  type Threshold,
} from '../../record/threshold.js';
import { groupBy } from '../../report/lists.js';
import { seedChanges } from '../random-streams.js';
import { boundKey, cellKey } from './cell-key.js';
import type { CellsRequest } from './pool.js';
import { type CellTask, type FailedOutcome, failedOutcome, labelsOf } from './run-cell.js';

/** One run of a sweep: a value for each varied key, and a seed. */
export interface GridCell {
  /** Stable name: `key=value` pairs and the seed. */
  readonly id: string;
  readonly values: Readonly<Record<string, string>>;
  readonly seed: number;
  /** True if the same combination also runs with an earlier seed. */
  readonly repeats: boolean;
}

/** Every combination of values × seeds: the first key varies slowest, seeds fastest. */
export function buildGrid(vary: readonly VariedKey[], seeds: readonly number[]): GridCell[] {
  let combinations: Readonly<Record<string, string>>[] = [{}];
  for (const { key, values } of vary) {
    combinations = combinations.flatMap((left) => values.map((value) => ({ ...left, [key]: value })));
  }
  return combinations.flatMap((values) =>
    seeds.map((seed, i) => ({ id: cellId(values, seed), values, seed, repeats: i > 0 })),
  );
}

/** Settings of every cell of a sweep, besides its own values. */
interface CellBase {
  /** Axes of named cases: a cell's value names a set of overrides. */
  readonly cases: readonly CaseAxis[];
  /** `--set` overrides, which win over cases. */
  readonly overrides: readonly string[];
}

/** Overrides with kinds of policies and workloads after the other keys, so that they drop keys that they do not have. */
export function kindsLast(overrides: readonly string[]): string[] {
  const isKind = (override: string) => isKindKey(override.split('=')[0]!);
  return [...overrides.filter((one) => !isKind(one)), ...overrides.filter(isKind)];
}

/** Overrides of one repetition, with a timeline if it is the first: those of all would be most of the results. */
export function seedOverrides(seed: number, repeats: boolean): string[] {
  return [`seed=${seed}`, ...(repeats ? ['output.timeline=false'] : [])];
}

/** Overrides, in the form of `--set`, that turn the experiment file into this cell. */
export function cellOverrides(
  { values, seed, repeats }: GridCell,
  { cases, overrides }: CellBase = { cases: [], overrides: [] },
): string[] {
  const varied = Object.entries(values).filter(([key]) => !cases.some((axis) => axis.key === key));
  return [
    ...chosenCases(cases, values).flatMap((one) => one.overrides),
    ...overrides,
    ...kindsLast(varied.map(([key, value]) => `${key}=${value}`)),
    ...seedOverrides(seed, repeats),
  ];
}

/** `key=value` pairs and the seed. */
function cellId(values: Readonly<Record<string, string>>, seed: number): string {
  return [...Object.entries(values).map(([key, value]) => `${key}=${value}`), `seed=${seed}`].join(' ');
}

/** Parses one `--vary key=values`, e.g. `slo=10ms,25ms` or `policy.scheduleAhead=1ms:20ms:1ms`. Throws `E_USAGE`. */
export function parseVary(text: string): VariedKey {
  const split = text.indexOf('=');
  if (split <= 0 || split === text.length - 1) {
    throw usageError(`--vary ${text}: write key=values, e.g. --vary slo=10ms,25ms,50ms`);
  }
  const key = text.slice(0, split).trim();
  if (key === 'seed') throw usageError(`--vary ${text}: seeds are varied with --seeds 1,2,3`);
  const placeOf = () => ({ flag: `--vary ${key}` });
  return { key, values: validate(variedValues, text.slice(split + 1), placeOf, 'E_USAGE') };
}

/** Parses all `--vary` flags. Throws `E_USAGE` if a key is given twice. */
export function parseVaryFlags(texts: readonly string[]): VariedKey[] {
  const vary = texts.map(parseVary);
  const keys = vary.map(({ key }) => key);
  const twice = keys.find((key, i) => keys.indexOf(key) !== i);
  if (twice !== undefined) {
    throw usageError(`--vary ${twice} is given twice: put all its values into one list`);
  }
  return vary;
}

/** Axes of a sweep. */
interface SweepAxes {
  readonly cases: readonly CaseAxis[];
  readonly vary: readonly VariedKey[];
}

/**
 * Axes of a file's sweep section after `--vary`: a flag that names an axis of cases picks some of them, and other flags
 * replace all varied keys of the file. Throws `E_USAGE` for an unknown case.
 */
export function chooseAxes(
  texts: readonly string[],
  { cases, vary }: SweepAxes = { cases: [], vary: [] },
): SweepAxes {
  const namesOf = ({ key }: CaseAxis) =>
    texts.filter((text) => text.startsWith(`${key}=`)).map((text) => text.slice(key.length + 1));
  const others = texts.filter((text) => !cases.some(({ key }) => text.startsWith(`${key}=`)));
  return {
    cases: cases.map((axis) => pickCases(axis, namesOf(axis))),
    vary: others.length === 0 ? vary : parseVaryFlags(others),
  };
}

/** Each list holds one name, or several separated by commas. */
function pickCases(axis: CaseAxis, lists: readonly string[]): CaseAxis {
  if (lists.length === 0) return axis;
  const named = (name: string) => axis.cases.find((one) => one.name === name);
  const names = lists
    .map((list) => list.trim())
    .flatMap((list) => (named(list) === undefined ? list.split(',').map((name) => name.trim()) : [list]));
  const cases = [...new Set(names)].map((name) => {
    const found = named(name);
    if (found !== undefined) return found;
    const known = axis.cases.map((one) => one.name).join('; ');
    throw usageError(`--vary ${axis.key}: there is no case "${name}"; there are: ${known}`);
  });
  return { ...axis, cases };
}

/** Parses `--seeds`: a list or range of whole numbers. Throws `E_USAGE`. */
export function parseSeeds(text: string): readonly number[] {
  return validate(seedList, text, () => ({ flag: '--seeds' }), 'E_USAGE');
}

/** A cell of the grid, and either how to run it or why it cannot run. */
export type PlannedCell =
  | {
      readonly cell: GridCell;
      readonly task: CellTask;
      /** Its upper bound, if the sweep requests it: the same task for all cells that share it. */
      readonly bound?: CellTask;
      /** Features of the experiment that the policy does not support. */
      readonly notes: readonly PolicyNote[];
    }
  | {
      readonly cell: GridCell;
      readonly task: null;
      readonly refused: FailedOutcome;
    };

interface PlanOptions extends CellBase {
  /** The experiment. */
  readonly source: SourceDocument;
  readonly bound: boolean;
  readonly version: string;
  /** Figures that are asked for, by the names of thresholds. */
  readonly metrics: readonly string[];
  /** Thresholds that a choice must meet to be recommended. */
  readonly thresholds: readonly Threshold[];
  /** Where a value of a varied key is written. */
  placeOf(key: string, value: string): ErrorPlace;
}

/** An experiment that may run, and how. */
export interface CheckedCell {
  readonly experiment: Experiment;
  readonly task: CellTask;
}

/** Checks one run of an experiment. Throws its errors. */
export async function checkCell(
  source: SourceDocument,
  overrides: readonly string[],
  { version, metrics }: Pick<PlanOptions, 'version' | 'metrics'>,
): Promise<CheckedCell> {
  const host = new NotedFiles();
  const experiment = await buildExperiment(source, { overrides, host });
  const { text, file } = source;
  const key = cellKey(experiment, version, metrics);
  const { files } = host;
  return { experiment, task: { text, file, files, overrides, metrics, key, ...labelsOf(experiment) } };
}

/**
 * Checks every cell before the first one runs. Throws if the experiment is wrong as a whole: no cell can run, or a
 * varied value or a case is refused in every cell that has it. A combination that cannot run (a model larger than a
 * small cache) fails alone. A combination that no seed changes is run with the first seed only.
 */
export async function planCells(grid: readonly GridCell[], options: PlanOptions): Promise<PlannedCell[]> {
  const { source, version, metrics, thresholds } = options;
  const planned: PlannedCell[] = [];
  const parts: PartNames[] = [];
  const errors = new Map<GridCell, EscapementError>();
  for (const cell of grid) {
    const overrides = cellOverrides(cell, options);
    try {
      const { experiment, task } = await checkCell(source, overrides, { version, metrics });
      if (cell.repeats && !seedChanges(experiment)) continue;
      if (thresholds.length > 0) parts.push(partNames(experiment));
      const bound = options.bound ? { bound: { ...task, key: boundKey(experiment, version) } } : {};
      planned.push({ cell, task, ...bound, notes: experimentNotes(experiment) });
    } catch (error) {
      if (!(error instanceof EscapementError)) throw error;
      const shown = atItsPlace(error, placeIn(cell, options));
      errors.set(cell, shown);
      planned.push({ cell, task: null, refused: failedOutcome(shown) });
    }
  }
  throwIfHopeless(grid, errors);
  refuseUnknownParts(thresholds, parts, 'threshold');
  return planned;
}

function throwIfHopeless(grid: readonly GridCell[], errors: ReadonlyMap<GridCell, EscapementError>): void {
  for (const [{ values }, error] of errors) {
    if (errors.size === grid.length) throw error;
    if (!error.code.startsWith('E_CONFIG_')) continue;
    for (const [key, value] of Object.entries(values)) {
      if (grid.every((cell) => cell.values[key] !== value || errors.has(cell))) throw error;
    }
  }
}

/** Place of an override of a cell, by its text: of its cases, or of its varied keys. */
function placeIn({ values }: GridCell, { cases, source, placeOf }: PlanOptions) {
  return (override: string): ErrorPlace | undefined => {
    const [inCase] = chosenCases(cases, values).flatMap((one) => placeInCase(one, override, source) ?? []);
    const varied = Object.keys(values).find((key) => override === `${key}=${values[key]}`);
    return inCase ?? (varied === undefined ? undefined : placeOf(varied, values[varied]!));
  };
}

/** Inputs that decide the cells of a sweep and their results; seeds by default as in the file. */
export interface SweepQuestion
  extends Pick<CellsRequest<string | undefined>, 'file' | 'seeds' | 'overrides' | 'version'> {
  /** `--vary` flags, which choose among cases, or else replace the varied keys of the file's sweep section. */
  readonly vary: readonly string[];
  /** Thresholds that a choice must meet to be recommended, as written. */
  readonly required: readonly string[];
}

/** Description of a sweep, for the record in `results.json`. */
export type SweepHeader = Omit<SweepResults, 'version' | 'cells'>;

/** Reads a sweep and checks every cell. Throws errors of the experiment and the flags. */
export async function planSweep({
  file,
  overrides,
  version,
  required,
  ...asked
}: SweepQuestion): Promise<{ readonly header: SweepHeader; readonly planned: readonly PlannedCell[] }> {
  const thresholds = required.map((text) => parseThreshold(text));
  const source = await readExperimentSource(file);
  const { name, seed, sweep, writtenValue } = await buildExperiment(source, { overrides, host: ON_DISK });
  const { cases, vary } = chooseAxes(asked.vary, sweep ?? undefined);
  const seeds = asked.seeds !== undefined ? parseSeeds(asked.seeds) : (sweep?.seeds ?? [seed]);
  const axes = [...caseKeys(cases), ...vary];
  if (axes.length === 0 && seeds.length === 1)
    throw usageError('nothing to sweep: add a sweep section, --vary or --seeds', { file });
  const placeOf = (key: string, value: string) =>
    vary === sweep?.vary
      ? { ...source.placeOf(['sweep', 'vary', key]), key: `sweep.vary.${key}` }
      : { flag: `--vary ${key}=${value}` };
  const cells = await planCells(buildGrid(axes, seeds), {
    ...{ source, cases, overrides, version, thresholds, placeOf, bound: sweep?.bound ?? false },
    metrics: thresholds.map(({ metric }) => metric),
  });
  const planned = mergeCells(cells, axes);
  const idle = axes.find(
    ({ key, values }) => values.length > 1 && planned.every(({ cell }) => !Object.hasOwn(cell.values, key)),
  );
  if (idle !== undefined) {
    const what = `no cell depends on ${idle.key}: leave it out, or vary the kind of its section too`;
    throw new EscapementError('E_CONFIG_KEY', what, placeOf(idle.key, idle.values.join()));
  }
  const defaults = axes.flatMap(({ key }) => {
    const text = textOf(writtenValue(key));
    return text === undefined ? [] : [[key, text] as const];
  });
  const header = {
    ...{ escapement: version, name, experiment: source.text },
    ...(overrides.length === 0 ? {} : { overrides }),
    ...(required.length === 0 ? {} : { required }),
    ...{ defaults: Object.fromEntries(defaults), vary: axes, seeds },
  };
  return { header, planned };
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
