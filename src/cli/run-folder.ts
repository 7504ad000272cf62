import { existsSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { EscapementError } from '../base/errors.js';
import { makeFolder } from '../base/files/make-folder.js';
import { cannotWrite, writeWhole } from '../base/files/output-file.js';
import { usableCores } from '../base/limits/usable.js';
import type { RunOrigin, RunResult } from '../record/results.js';
import { checkThreshold } from '../record/threshold.js';
import { generatorWarnings } from '../report/generator.js';
import { dropReport } from '../report/load.js';
import { runText } from '../report/terminal/summary-text.js';
import { csvText } from '../text/csv.js';
import { formatRate } from '../text/numbers.js';
import { warn, writeErr } from '../text/terminal.js';
import { print } from './common-options.js';
import { interruptible } from './interruption.js';
import { type CheckedExperiment, casesJson, casesText, missedText, writeJunit } from './thresholds.js';
import { packageVersion } from './version.js';

/** All files that `--out` of a run may contain in addition to its report. */
const RUN_FILES = [
  'summary.json',
  'run.json',
  'windows.csv',
  ...['requests', 'actions', 'gpus'].flatMap((log) => [`${log}.tsv`, `${log}.parquet`]),
  'timeline.json',
];

/**
 * Runs `fill` on a hidden folder inside `dir` and moves its files up only on success, so a failed or killed run leaves
 * nothing that looks finished, and the files of an earlier run stay. Success replaces all `names` that a run may write,
 * so the files of two runs never mix. Throws `E_FILE_WRITE` if `dir` is not writable, before `fill` does any work.
 */
export async function withStagedFolder<T>(
  dir: string,
  names: readonly string[],
  fill: (stage: string) => Promise<T>,
): Promise<T> {
  const stage = join(dir, '.unfinished');
  const added: string[] = [];
  for (let at = resolve(dir); !existsSync(at); at = dirname(at)) added.push(at);
  try {
    makeFolder(dir);
    rmSync(stage, { recursive: true, force: true });
    makeFolder(stage);
  } catch (error) {
    throw cannotWrite(dir, error);
  }
  const clean = () => {
    rmSync(stage, { recursive: true, force: true });
    for (const folder of added) if (readdirSync(folder).length === 0) rmdirSync(folder);
  };
  const work = async () => {
    const value = await fill(stage);
    for (const name of names) rmSync(join(dir, name), { recursive: true, force: true });
    for (const name of readdirSync(stage)) renameSync(join(stage, name), join(dir, name));
    return value;
  };
  const kept = () => {
    clean();
    return `nothing was written to ${dir}`;
  };
  return interruptible(work, kept).finally(clean);
}

/** Column of windows.csv: `p99_ms` for `p99Ms`. */
export function windowColumn(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** `windows.csv`: one line per window, with the names of `run.json` and the events of GPUs without their reasons. */
export function windowsCsv({ windows, events = [] }: Pick<RunResult, 'windows' | 'events'>): string {
  const rows = windows.map((window) => {
    const { beginSeconds, endSeconds } = window;
    const own = events.filter(({ atSeconds }) => atSeconds >= beginSeconds && atSeconds < endSeconds);
    return [...Object.values(window), own.map(({ text }) => text.split(': ')[0]).join('; ')];
  });
  return csvText([...Object.keys(windows[0]!).map(windowColumn), 'events'], rows);
}

/** Facts that a run depends on in addition to its experiment: this version, and `own`. */
export function originOf(own: Omit<RunOrigin, 'escapement'> = {}): RunOrigin {
  return { escapement: packageVersion(), ...own };
}

/** Machine and software of a run in real time. */
export function environment(): Readonly<Record<string, string>> {
  const model = cpus()[0]?.model.trim() ?? 'unknown';
  return { Node: process.versions.node, Machine: `${usableCores()} × ${model}` };
}

/** Flags of a command that runs one experiment. */
export interface OutputArgs {
  readonly json: boolean;
  readonly out: string | undefined;
  readonly quiet: boolean;
}

/** A finished run, and lines about it for stderr. */
interface Performed {
  readonly result: RunResult;
  readonly lines: readonly string[];
  /** Requests without an answer; empty if there are none. */
  readonly lost?: string;
}

/**
 * Runs an experiment into the folder of `--out`, in place of an earlier run, prints its figures, and writes the files for
 * CI. Throws `E_ANSWERS_LOST` and `E_THRESHOLD` last, after everything is written.
 */
export async function performRun(
  command: string,
  { experiment, checks }: CheckedExperiment,
  { json, out, quiet }: OutputArgs,
  perform: (options: { readonly percentiles: readonly number[]; outDir?: string }) => Promise<Performed>,
): Promise<void> {
  const { percentiles } = checks;
  const inFolder = async (outDir: string) => {
    const performed = await perform({ percentiles, outDir });
    const { result } = performed;
    writeWhole(join(outDir, 'run.json'), `${JSON.stringify(result)}\n`);
    writeWhole(join(outDir, 'windows.csv'), windowsCsv(result));
    writeWhole(join(outDir, 'summary.json'), `${JSON.stringify(result.summary, null, 2)}\n`);
    return performed;
  };
  const performed = out === undefined ? perform({ percentiles }) : withStagedFolder(out, RUN_FILES, inFolder);
  const { result, lines, lost = '' } = await performed;
  if (out !== undefined) dropReport(out);
  warnIfEmpty(result);
  const cases = checks.thresholds.map((each) => ({ run: '', ...checkThreshold(each, result.summary) }));
  print({ json }, { ...result.summary, ...casesJson(cases) }, () => runText(result) + casesText(cases));
  if (!quiet) writeErr(lines.map((line) => `${line}\n`).join(''));
  warn(generatorWarnings(result));
  writeJunit(checks, command, experiment.name, cases);
  const problems = [lost, missedText(cases)].filter((text) => text !== '');
  if (problems.length === 0) return;
  throw new EscapementError(lost === '' ? 'E_THRESHOLD' : 'E_ANSWERS_LOST', problems.join('; '));
}

/** Warns on stderr if a run had no request to measure: rates of 0 look like a failure of the server. */
function warnIfEmpty({ summary, windows }: Pick<RunResult, 'summary' | 'windows'>): void {
  if (summary.requests.offered > 0) return;
  const [{ beginSeconds }] = windows;
  const [from, to] = [beginSeconds, beginSeconds + summary.durationSeconds].map(formatRate);
  warn([
    `no request arrived in the measured time, ${from} to ${to} s; raise the rate or the duration, or shorten the warm-up`,
  ]);
}
