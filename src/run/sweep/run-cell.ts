import { EscapementError } from '../../base/errors.js';
import { ParsedFiles } from '../../base/world/parsed-files.js';
import type { Experiment } from '../../config/experiment.js';
import type { ExperimentHost } from '../../config/experiment-host.js';
import { LocatedFiles, type LocatedPaths, ON_DISK, type ReadFile } from '../../config/files-on-disk.js';
import { parseExperiment } from '../../config/load.js';
import { modelsOf, percentilesOf } from '../../record/figures.js';
import type { CellResult, ScheduledRun } from '../../record/results.js';
import { drawnPart } from '../../report/charts/gpu-timeline.js';
import { boundOf } from '../bound.js';
import { simulate } from '../simulated.js';

/** Task of a thread: to run one cell, or to find its bound. Plain data: it crosses into a worker thread. */
export interface CellTask {
  /** Key under which its result is stored. */
  readonly key: string;
  /** The experiment as it was when the sweep began, and its path. */
  readonly text: string;
  readonly file: string;
  readonly overrides: readonly string[];
  /** Figures that are asked for, by the names of thresholds. */
  readonly metrics: readonly string[];
  /** Names of the experiment and its policy's plugin, if any, in results; not part of the key. */
  readonly name: string;
  readonly plugin?: string;
  /** Files that the experiment names. */
  readonly files: readonly ReadFile[];
  /** Location of each of them on this machine; no other file is opened. Absent: at its path. */
  readonly located?: LocatedPaths;
}

/** Names of a task, from its experiment. */
export function labelsOf({ name, policy: { plugin } }: Experiment): Pick<CellTask, 'name' | 'plugin'> {
  return { name, ...(plugin === undefined ? {} : { plugin: plugin.file }) };
}

/** Caches traces and profiles in this thread, since most cells of a sweep share them. */
const KEEPING: ExperimentHost = { ...ON_DISK, input: { ...ON_DISK.input, parsed: new ParsedFiles() } };

/** Code of a failure that is not the operator's: a bug of escapement. */
export const BUG = 'BUG';

/** Outcome of a cell. The result is JSON so that a cell looks the same fresh and read from disk. */
export type CellOutcome = { readonly status: 'done'; readonly json: string } | FailedOutcome;

export interface FailedOutcome {
  readonly status: 'failed';
  readonly code: string;
  readonly message: string;
}

/** Runs one cell in this thread. Failures are returned as outcomes: errors lose their class between threads. */
export function runCell(task: CellTask): Promise<CellOutcome> {
  return outcomeOf(task, async (experiment) =>
    asCell(await simulate(experiment, { percentiles: percentilesOf(task.metrics) }), modelsOf(task.metrics)),
  );
}

/** Bounds the goodput that any scheduler could reach in a cell; the outcome's JSON is of `BoundFigures`. */
export function boundCell(task: CellTask): Promise<CellOutcome> {
  return outcomeOf(task, boundOf);
}

async function outcomeOf(
  { text, file, overrides, located }: CellTask,
  find: (experiment: Experiment) => Promise<object>,
): Promise<CellOutcome> {
  try {
    const files = located === undefined ? KEEPING : new LocatedFiles(located, KEEPING.input);
    const experiment = await parseExperiment(text, file, overrides, [], files);
    return { status: 'done', json: JSON.stringify(await find(experiment)) };
  } catch (error) {
    return failedOutcome(error);
  }
}

/** Outcome of a cell that threw `error`. */
export function failedOutcome(error: unknown): FailedOutcome {
  if (error instanceof EscapementError) return { status: 'failed', code: error.code, message: error.message };
  return { status: 'failed', code: BUG, message: error instanceof Error ? error.message : String(error) };
}

/** Number of models that a cell keeps, worst first, besides those asked for: thousands would be too large to open. */
const MOST_MODELS = 20;

/** Part of a run that a sweep keeps; of its timeline, as much as the chart shows. */
function asCell(
  { experiment: _, overrides: __, origin: _____, setup: ___, summary, timeline, ...rest }: ScheduledRun,
  asked: readonly string[],
): CellResult {
  const { wall: ____, by, ...figures } = summary;
  const isKept = ({ key }: { key: string }, rank: number) => rank < MOST_MODELS || asked.includes(key);
  return {
    ...rest,
    summary: { ...figures, by: { ...by, model: by.model.filter(isKept) } },
    timeline: drawnPart(timeline, rest.worst),
  };
}
