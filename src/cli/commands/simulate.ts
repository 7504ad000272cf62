import { setImmediate } from 'node:timers/promises';
import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import type { Experiment } from '../../experiment/experiment.js';
import { loadExperiment } from '../../experiment/load.js';
import { simulate } from '../../experiment/simulate.js';
import type { RunResult } from '../../metrics/results.js';
import { checkThreshold, parseThreshold } from '../../metrics/threshold.js';
import { summaryText } from '../../report/summary-text.js';
import { manyValues, oneValue, wholeNumber } from '../args.js';
import { experimentHelp } from '../experiment-help.js';
import { openProgress } from '../progress.js';
import { inRunFolder } from '../run-folder.js';

/** `escapement simulate FILE`: one run, its figures on stdout. */
export function simulateCommand(cli: Argv): void {
  cli.command(
    'simulate <file>',
    'Run one experiment in simulation',
    (command) =>
      command
        .positional('file', { type: 'string', demandOption: true, describe: 'Experiment file (YAML)' })
        .options({
          set: manyValues({ describe: 'Override a key, e.g. --set policy.scheduleAhead=5ms' }),
          seed: oneValue({ describe: 'Override the seed' }),
          json: {
            type: 'boolean',
            default: false,
            describe: 'Print one JSON object on stdout and nothing else',
          },
          out: oneValue({ describe: 'Also write summary, logs and timeline to this folder' }),
          threshold: manyValues({ describe: "Exit with status 3 unless this holds, e.g. 'p99<100ms'" }),
          quiet: { type: 'boolean', default: false, describe: 'No progress on stderr' },
        })
        .example('$0 simulate experiments/azure.yaml --out out/azure-run', '')
        .example('$0 simulate experiments/isolation.yaml --set policy.kind=fifo', '')
        .example("$0 simulate run.yaml --seed 2 --json --threshold 'p99<100ms'", '')
        .epilogue(experimentHelp()),
    async (args) => {
      const thresholds = args.threshold.map(parseThreshold);
      const seed = args.seed === undefined ? [] : [`seed=${wholeNumber(args.seed, 'seed', 0)}`];
      const experiment = await loadExperiment(args.file, [...args.set, ...seed]);
      const result = await run(experiment, args);
      if (args.json) process.stdout.write(`${JSON.stringify(result.summary)}\n`);
      else process.stdout.write(summaryText(result));
      if (args.json && !args.quiet) process.stderr.write(`digest ${result.summary.digest}\n`);
      const checks = thresholds.map((threshold) => checkThreshold(threshold, result.summary));
      const missed = checks.filter(({ ok }) => !ok).map(({ text }) => text);
      if (missed.length > 0) throw new EscapementError('E_THRESHOLD', missed.join('; '));
    },
  );
}

interface RunArgs {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly out: string | undefined;
}

async function run(experiment: Experiment, { json, quiet, out }: RunArgs): Promise<RunResult> {
  // The summary for people begins with the seed and ends with the digest; JSON leaves both to stderr.
  if (json && !quiet) process.stderr.write(`seed ${experiment.seed}\n`);
  const progress = openProgress('simulate', quiet);
  const onProgress = async (fraction: number) => {
    progress.update(fraction);
    // Lets a Ctrl-C in.
    await setImmediate();
  };
  try {
    return await inRunFolder(
      out,
      (outDir) => simulate(experiment, { onProgress, ...(outDir === undefined ? {} : { outDir }) }),
      (result) => result,
    );
  } finally {
    progress.stop();
  }
}
