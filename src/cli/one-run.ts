import { basename, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Experiment } from '../config/experiment.js';
import { experimentNotes } from '../config/policy-notes.js';
import { sharesLine } from '../config/tenant-shares.js';
import { noteLines, noteTexts } from '../record/policy-notes.js';
import { generatorLines } from '../report/generator.js';
import { quoted } from '../report/reproduce.js';
import type { Engine, LiveReport } from '../run/engine.js';
import { type Run, run } from '../run/run.js';
import { warn, writeErr } from '../text/terminal.js';
import { distantStartOf } from '../workload/arrivals-source.js';
import { openProgress } from './progress.js';
import { finishRun, inRunFolder, liveOrigin, simulatedOrigin } from './run-folder.js';
import type { Checks } from './thresholds.js';

/** One experiment, its engine, and the conditions on its result. */
interface OneRun {
  readonly experiment: Experiment;
  readonly engine: Engine;
  readonly checks: Checks;
}

interface OutputArgs {
  readonly json: boolean;
  readonly out: string | undefined;
  readonly quiet: boolean;
}

/** Runs an experiment for a command and prints its figures. Throws `E_THRESHOLD` last, after everything is written. */
export async function oneRun(
  command: 'run' | 'simulate',
  { experiment, engine, checks }: OneRun,
  { json, out, quiet }: OutputArgs,
): Promise<void> {
  if (!quiet) {
    const said = [
      // The summary for people begins with the seed and ends with the digest; JSON leaves both to stderr.
      json ? `seed ${experiment.seed}` : null,
      ...noteLines(noteTexts(experimentNotes(experiment))),
      sharesLine(experiment.tenants.list),
    ];
    writeErr(said.flatMap((line) => (line === null ? [] : `${line}\n`)).join(''));
  }
  warn(await distantStarts(experiment));
  const progress = openProgress(engine.kind === 'live' ? 'live' : 'simulate', quiet);
  const onProgress = async (fraction: number) => {
    progress.update(fraction);
    // Gives Ctrl-C a chance.
    await setImmediate();
  };
  const perform = async (outDir: string | undefined): Promise<Run> => {
    const { percentiles } = checks;
    const options = { onProgress, percentiles, ...(outDir === undefined ? {} : { outDir }) };
    const { result, live } = await run(experiment, engine, options);
    const origin = live === null ? simulatedOrigin() : await liveOrigin(experiment);
    return { result: { ...result, origin }, live };
  };
  const { result, live } = await inRunFolder(out, perform, (finished) => finished.result).finally(() =>
    progress.stop(),
  );
  const lines =
    live === null ? [] : [...generatorLines(result), ...devicesText(live), ...recordingText(live, out)];
  finishRun(command, { experiment, result, checks }, { json, quiet }, [
    ...(json ? [`digest ${result.summary.digest}`] : []),
    ...lines.map((line) => `live: ${line}`),
  ]);
}

/** Arrivals files whose times seem to be in a different unit. */
async function distantStarts({ workloads, files }: Experiment): Promise<string[]> {
  const texts = workloads.map(async (workload) => {
    if (workload.kind !== 'arrivals') return [];
    const text = await distantStartOf(files, workload.path);
    return text === null ? [] : [`${workload.path}: ${text}`];
  });
  return (await Promise.all(texts)).flat();
}

function devicesText({ deviceErrors, journal }: LiveReport): string[] {
  if (journal === null) return [...deviceErrors];
  return [...deviceErrors, `replay this run with: escapement replay ${quoted(journal)}`];
}

/** Location of the timeline. Its folder has another name until the run is over. */
function recordingText({ recording }: LiveReport, out: string | undefined): string[] {
  if (recording === null) return [];
  const { file, seconds, dropped, problems } = recording;
  const path = out === undefined ? file : join(out, basename(file));
  const without = dropped === 0 ? '' : `, ${dropped} events dropped`;
  return [
    `${seconds.toFixed(1)} s recorded in ${path}${without}`,
    ...problems.map((problem) => `operators are missing for ${problem}`),
  ];
}
