import { basename, join } from 'node:path';
import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import { NS_PER_MS } from '../../core/units.js';
import { environmentOverrides } from '../../experiment/environment.js';
import { loadExperiment } from '../../experiment/load.js';
import { simulate } from '../../experiment/simulate.js';
import { checkThreshold, parseThreshold } from '../../metrics/threshold.js';
import { summaryText } from '../../report/summary-text.js';
import type { LiveResult } from '../../serving/run-live.js';
import { manyValues, oneValue, wholeNumber } from '../args.js';
import { experimentWarnings, warn } from '../live-settings.js';
import { openProgress } from '../progress.js';
import { inRunFolder } from '../run-folder.js';

const MODES = ['simulate', 'live'] as const;

/** `escapement run FILE --mode live`: one experiment, on either clock. */
export function runCommand(cli: Argv): void {
  cli.command(
    'run <file>',
    'Run one experiment in simulation, or live: in real time on real models',
    (command) =>
      command
        .positional('file', { type: 'string', demandOption: true, describe: 'Experiment file (YAML)' })
        .options({
          mode: { choices: MODES, default: 'live' as const, describe: 'Which clock drives the scheduler' },
          set: manyValues({ describe: 'Override a key, e.g. --set live.device=simulated' }),
          seed: oneValue({ describe: 'Override the seed' }),
          json: {
            type: 'boolean',
            default: false,
            describe: 'Print one JSON object on stdout and nothing else',
          },
          out: oneValue({ describe: 'Also write summary, logs and timeline to this folder' }),
          journal: oneValue({
            describe: 'Live: write all that enters the scheduler to this file, for replay',
          }),
          threshold: manyValues({ describe: "Exit with status 3 unless this holds, e.g. 'p99<100ms'" }),
          quiet: { type: 'boolean', default: false, describe: 'No progress on stderr' },
        })
        .example('$0 run experiments/live/two-models.yaml --mode live --out out/live', '')
        .example('$0 run experiments/live/two-models.yaml --mode simulate --out out/simulated', '')
        .example('$0 compare out/simulated out/live', ''),
    async (args) => {
      const thresholds = args.threshold.map(parseThreshold);
      if (args.journal !== undefined && args.mode === 'simulate') {
        throw new EscapementError(
          'E_USAGE',
          '--journal: a simulation needs none, it can be run again; use --mode live',
        );
      }
      const seed = args.seed === undefined ? [] : [`seed=${wholeNumber(args.seed, 'seed', 0)}`];
      const experiment = await loadExperiment(
        args.file,
        [...args.set, ...seed],
        // A simulation is the same wherever it runs.
        args.mode === 'live' ? environmentOverrides(process.env) : [],
      );
      if (args.mode === 'live') warn(await experimentWarnings(args.file, args.set));
      const progress = openProgress(args.mode, args.quiet);
      const onProgress = (fraction: number) => progress.update(fraction);
      const run = async (
        outDir: string | undefined,
      ): Promise<Pick<LiveResult, 'result'> & Partial<LiveResult>> => {
        const options = { onProgress, ...(outDir === undefined ? {} : { outDir }) };
        if (args.mode === 'simulate') return { result: await simulate(experiment, options) };
        const { runLive } = await import('../../serving/run-live.js');
        return runLive(experiment, {
          ...options,
          ...(args.journal === undefined ? {} : { journal: args.journal }),
        });
      };
      let finished: Awaited<ReturnType<typeof run>>;
      try {
        finished = await inRunFolder(args.out, run, ({ result }) => result);
      } finally {
        progress.stop();
      }
      const { result } = finished;
      process.stdout.write(args.json ? `${JSON.stringify(result.summary)}\n` : summaryText(result));
      if (!args.quiet) process.stderr.write(aboutClock(finished) + aboutProfile(finished, args.out));
      const checks = thresholds.map((threshold) => checkThreshold(threshold, result.summary));
      const missed = checks.filter(({ ok }) => !ok).map(({ text }) => text);
      if (missed.length > 0) throw new EscapementError('E_THRESHOLD', missed.join('; '));
    },
  );
}

/** How well the real clock was kept, and what the devices complained about. Nothing for a simulation. */
function aboutClock({ played, deviceErrors = [], wakeLatenessNs = [] }: Partial<LiveResult>): string {
  if (played === undefined) return '';
  const ms = (ns: number) => `${Number((ns / NS_PER_MS).toPrecision(3))} ms`;
  const { lateness } = played;
  const sorted = wakeLatenessNs.toSorted((a, b) => a - b);
  const wake = (share: number) =>
    ms(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
  return [
    `live: requests were offered p50 ${ms(lateness.percentile(50))}, p99 ${ms(lateness.percentile(99))} later than intended\n`,
    sorted.length === 0 ? '' : `live: timers fired p50 ${wake(0.5)}, p99 ${wake(0.99)} late\n`,
    ...deviceErrors.map((error) => `live: ${error}\n`),
  ].join('');
}

/** Where the timeline is. The folder that it was written to has another name until the run is over. */
function aboutProfile({ profile = null }: Partial<LiveResult>, out: string | undefined): string {
  if (profile === null) return '';
  const { file, seconds, dropped, problems } = profile;
  const path = out === undefined ? file : join(out, basename(file));
  return [
    `live: ${seconds.toFixed(1)} s were recorded in ${path}${dropped === 0 ? '' : `, without ${dropped} events`}\n`,
    ...problems.map((problem) => `live: without operators of ${problem}\n`),
  ].join('');
}
