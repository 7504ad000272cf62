import { join } from 'node:path';
import { EscapementError } from '../base/errors.js';
import { loadExperiment, readExperimentSource } from '../config/load.js';
import { expandValues } from '../config/units-text.js';
import { ratioOf } from '../record/counted.js';
import { refuseUnknownSenders } from '../record/known-senders.js';
import type { Summary } from '../record/results.js';
import type { ThresholdCase } from '../report/thresholds/cases.js';
import { formatCount, formatMs, formatPercent, formatRate } from '../text/numbers.js';
import { table } from '../text/table.js';
import { writeErr, writeOut } from '../text/terminal.js';
import { warn } from './live-settings.js';
import { type LoadArgs, type PlayedLoad, playLoad, refuseLost } from './load-run.js';
import { wholeNumber } from './options.js';
import {
  type Checks,
  casesJson,
  casesOf,
  casesText,
  missedText,
  refuseMissed,
  writeCiFiles,
} from './thresholds.js';

interface Level extends PlayedLoad {
  readonly concurrency: number;
  readonly models: number;
}

/** Keys of a section of any kind that remain when closed-loop clients replace it. */
const KEPT_KEYS = ['name', 'models', 'slo', 'duration', 'popularity'];

/**
 * `load --concurrency 1,2,4,8`: plays the workload once per level, with that many closed-loop clients. One row per
 * level; `--out` gets a folder for each.
 */
export async function loadLevels(
  levels: string,
  overrides: readonly string[],
  args: LoadArgs & { readonly file: string; readonly json: boolean },
  checks: Checks,
): Promise<void> {
  const workload = await closedLoop(args.file);
  const played: Level[] = [];
  let name = '';
  for (const concurrency of levelsOf(levels)) {
    const all = [workload, ...overrides, `workload.clients=${concurrency}`];
    const experiment = await loadExperiment(args.file, all);
    refuseUnknownSenders(checks.thresholds, [experiment], 'threshold');
    name = experiment.name;
    const out = args.out === undefined ? undefined : join(args.out, `concurrency-${concurrency}`);
    played.push({
      concurrency,
      models: experiment.models.length,
      ...(await playLoad(experiment, { ...args, out })),
    });
  }
  const cases = played.flatMap(({ concurrency, result }) =>
    casesOf(checks, result).map((found): ThresholdCase => ({ ...found, run: `concurrency=${concurrency}` })),
  );
  writeOut(args.json ? levelsJson(played, cases) : levelsText(played) + casesText(cases));
  if (!args.quiet) writeErr([played[0].assumed, ...played.map(({ notes }) => notes)].join(''));
  for (const { concurrency, warnings } of played)
    warn(warnings.map((warning) => `at concurrency ${concurrency}: ${warning}`));
  writeCiFiles(checks, 'load', name, cases);
  const lost = played.filter((level) => level.lost !== '');
  refuseLost(
    lost.map((level) => `at concurrency ${level.concurrency}: ${level.lost}`).join('; '),
    missedText(cases),
  );
  refuseMissed(cases);
}

/** Numbers of clients, without duplicates, in the given order. Throws `E_USAGE`. */
function levelsOf(text: string): number[] {
  let values: string[];
  try {
    values = expandValues(text);
  } catch (error) {
    throw new EscapementError('E_USAGE', `--concurrency: ${(error as Error).message}`);
  }
  return [...new Set(values.map((value) => wholeNumber(value, '--concurrency', 1)))];
}

/** The workload of a file as an override: same models, SLO and duration, with closed-loop clients. Throws `E_USAGE`. */
async function closedLoop(file: string): Promise<string> {
  const { workload } = (await readExperimentSource(file)).tree;
  const sections = Array.isArray(workload) ? workload : [workload];
  if (sections.length !== 1 || typeof sections[0] !== 'object' || sections[0] === null) {
    const what = `--concurrency: ${file} must have one workload section, found ${sections.length}`;
    throw new EscapementError('E_USAGE', what);
  }
  const kept = Object.entries(sections[0]).filter(([key]) => KEPT_KEYS.includes(key));
  return `workload=${JSON.stringify({ kind: 'closed-loop', clients: 1, ...Object.fromEntries(kept) })}`;
}

function levelsJson(levels: readonly Level[], cases: readonly ThresholdCase[]): string {
  const figures = levels.map(({ concurrency, result }) => ({ concurrency, ...result.summary }));
  return `${JSON.stringify({ levels: figures, ...casesJson(cases) })}\n`;
}

function levelsText(levels: readonly Level[]): string {
  const head = ['clients', 'req/s', 'in time', 'p50', 'p90', 'p99', 'failed'];
  const rows = [
    head,
    ...levels.map(({ concurrency, result }) => [String(concurrency), ...rowOf(result.summary)]),
  ];
  const [first] = levels as [Level, ...Level[]];
  const { origin, summary } = first.result;
  return [
    `${summary.name}, load against ${origin?.url}, ${formatRate(summary.durationSeconds)} s a level, seed ${summary.seed}\n\n`,
    table(rows, []),
    '\nreq/s and latency count executed requests only\n',
    leftOut(levels),
  ].join('');
}

/** Note on levels with fewer clients than models: a client stays with one model. */
function leftOut(levels: readonly Level[]): string {
  const few = levels.filter(({ concurrency, models }) => concurrency < models);
  if (few.length === 0) return '';
  const [{ models }] = few as [Level, ...Level[]];
  const which = few.map(({ concurrency }) => concurrency).join(', ');
  return `each client sends to one of ${models} models: at concurrency ${which}, some models got no requests\n`;
}

function rowOf({ requests, durationSeconds, attainment, executedLatencyMs }: Summary): string[] {
  const executed = requests.ok + requests.late;
  return [
    formatRate(ratioOf(executed, durationSeconds)),
    formatPercent(attainment),
    formatMs(executedLatencyMs.p50),
    formatMs(executedLatencyMs.p90),
    formatMs(executedLatencyMs.p99),
    formatCount(requests.offered - executed),
  ];
}
