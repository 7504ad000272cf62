import { setImmediate } from 'node:timers/promises';
import type { Experiment } from '../config/experiment.js';
import { experimentNotes, sharesLine } from '../config/policy-notes.js';
import { noteLines } from '../record/policy-notes.js';
import type { RunOrigin } from '../record/results.js';
import { generatorLines } from '../report/generator.js';
import { quoted } from '../report/reproduce.js';
import { type Engine, type LiveReport, run } from '../run/run.js';
import { warn, writeErr } from '../text/terminal.js';
import { distantStartOf } from '../workload/arrivals-source.js';
import { openProgress } from './progress.js';
import { environment, type OutputArgs, originOf, performRun } from './run-folder.js';
import type { CheckedExperiment } from './thresholds.js';

/** Runs an experiment for a command and prints its figures. Throws `E_THRESHOLD` last, after everything is written. */
export async function oneRun(
  command: 'run' | 'simulate',
  checked: CheckedExperiment,
  engine: Engine,
  args: OutputArgs,
): Promise<void> {
  const { experiment } = checked;
  const { json, quiet } = args;
  if (!quiet) {
    const said = [
      // With JSON, seed and digest go to stderr; the summary for people contains them.
      json ? `seed ${experiment.seed}` : null,
      ...noteLines(experimentNotes(experiment)),
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
  await performRun(command, checked, args, async (options) => {
    const { result, live } = await run(experiment, engine, { ...options, onProgress }).finally(progress.stop);
    const lines = live === null ? [] : [...generatorLines(result), ...liveLines(live)];
    return {
      result: {
        ...result,
        origin: { ...(live === null ? originOf() : await liveOrigin(experiment)), file: experiment.file },
      },
      lines: [...(json ? [`digest ${result.summary.digest}`] : []), ...lines.map((line) => `live: ${line}`)],
    };
  });
}

/** Arrival files whose times seem to be in another unit. */
async function distantStarts({ workloads, files }: Experiment): Promise<string[]> {
  const texts = workloads.map(async (workload) => {
    if (workload.kind !== 'arrivals') return [];
    const text = await distantStartOf(files, workload.path);
    return text === null ? [] : [`${workload.path}: ${text}`];
  });
  return (await Promise.all(texts)).flat();
}

/** Devices, machine and software of a live run. */
async function liveOrigin({ live: { device }, cluster: { gpus } }: Experiment): Promise<RunOrigin> {
  if (device === 'simulated') {
    const devices = `${gpus} simulated GPU${gpus === 1 ? '' : 's'} in real time`;
    return originOf({ devices, environment: environment() });
  }
  const { onnxruntimeVersion } = await import('../live/ort/open-session.js');
  const software = { ...environment(), onnxruntime: onnxruntimeVersion() };
  return originOf({ devices: `${gpus} × ${device}`, environment: software });
}

/** Device errors and journal of a live run. */
function liveLines({ deviceErrors, journal }: LiveReport): string[] {
  if (journal === null) return [...deviceErrors];
  return [...deviceErrors, `replay this run with: escapement replay ${quoted(journal)}`];
}
