import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import { checkWritable, writeWhole } from '../../files/output-file.js';
import { planExperiment } from '../../planner/plan.js';
import type { PlanResult } from '../../planner/plan-result.js';
import { planText, verdictLines } from '../../planner/text.js';
import { manyValues, oneValue, oneValueOr, wholeNumber } from '../args.js';
import { EXIT_INTERRUPTED } from '../exit-codes.js';
import { openProgress, type Progress } from '../progress.js';
import { packageVersion } from '../version.js';

/** Values that a bisection needs besides its rounds: both ends, and the neighbours of the answer. */
const VALUES_BESIDES = 6;

/** `escapement plan FILE`: the fewest GPUs, highest load or tightest SLO that meets an objective. */
export function planCommand(cli: Argv): void {
  cli.command(
    'plan <file>',
    'Find the fewest GPUs, the highest load or the tightest SLO that meets a target',
    (command) =>
      command
        .positional('file', { type: 'string', demandOption: true, describe: 'Experiment file (YAML)' })
        .options({
          target: manyValues({
            describe: "What must hold, e.g. 'sloAttainment>=99.9%'; figures as for --threshold of simulate",
          }),
          over: oneValue({
            describe:
              'Key and range, e.g. cluster.gpus=1:64 or workload.rate=100/s:5000/s:50/s (with a step)',
          }),
          seeds: oneValueOr('1,2,3', 'Seeds to repeat every value with'),
          prefer: oneValue({
            describe: 'low or high: which value is better, where the key does not tell',
          }),
          set: manyValues({ describe: 'Override another key at every value' }),
          out: oneValue({
            describe: 'Write plan.json and plan.html to this folder; an interrupted plan goes on there',
          }),
          html: oneValue({ describe: 'Write the page with charts to this file' }),
          json: {
            type: 'boolean',
            default: false,
            describe: 'Print one JSON object on stdout and nothing else',
          },
          threads: oneValue({ describe: 'Runs at the same time [default: one a core]' }),
          fresh: { type: 'boolean', default: false, describe: 'Run again what is kept in the folder' },
          quiet: { type: 'boolean', default: false, describe: 'No progress on stderr' },
        })
        .example("$0 plan run.yaml --target 'sloAttainment>=0.999' --over cluster.gpus=1:64", '')
        .example("$0 plan run.yaml --target 'p99<50ms' --over workload.rate=100/s:5000/s --out out/plan", '')
        .epilogue(
          'Without a step, whole numbers go by 1 and others by about 1 %. A value meets a target where the whole ' +
            '95 % confidence interval of the mean over the seeds does. Status 3: no value does.',
        ),
    async (args) => {
      const { out, html } = args;
      const threads =
        args.threads === undefined ? availableParallelism() : wholeNumber(args.threads, 'threads', 1);
      if (html !== undefined) checkWritable(html);
      const plan = await planWithProgress({ ...args, threads });
      const json = JSON.stringify(plan);
      if (out !== undefined) writeWhole(join(out, 'plan.json'), `${json}\n`);
      if (out !== undefined || html !== undefined) {
        // Charts bring half a second of libraries with them.
        const { planPage } = await import('../../planner/page.js');
        const page = await planPage(plan);
        if (out !== undefined) writeWhole(join(out, 'plan.html'), page);
        if (html !== undefined) writeWhole(html, page);
      }
      process.stdout.write(args.json ? `${json}\n` : planText(plan));
      if (out !== undefined && !args.json) process.stdout.write(`report: ${join(out, 'plan.html')}\n`);
      if (plan.outcome !== 'none') return;
      // How close the best came stands on stdout, but for readers of JSON.
      const [verdict, closest] = verdictLines(plan);
      throw new EscapementError('E_THRESHOLD', args.json ? `${verdict}; ${closest}` : verdict!);
    },
  );
}

interface PlanArgs {
  readonly file: string;
  readonly target: readonly string[];
  readonly over: string | undefined;
  readonly seeds: string;
  readonly prefer: string | undefined;
  readonly set: readonly string[];
  readonly out: string | undefined;
  readonly threads: number;
  readonly fresh: boolean;
  readonly quiet: boolean;
}

async function planWithProgress(args: PlanArgs): Promise<PlanResult> {
  const { out, threads, quiet } = args;
  let progress: Progress | undefined;
  let known = 0;
  let reused = 0;
  let expected = 0;
  const interrupted = () => {
    progress?.stop();
    const kept = `${known} runs are kept in ${out}; run the same command again to go on`;
    process.stderr.write(
      `escapement: interrupted: ${out === undefined ? 'no run is kept without --out' : kept}\n`,
    );
    process.exit(EXIT_INTERRUPTED);
  };
  process.once('SIGINT', interrupted);
  try {
    const plan = await planExperiment({
      ...{ file: args.file, over: args.over, targets: args.target, seeds: args.seeds, prefer: args.prefer },
      ...{ overrides: args.set, outDir: out, threads, fresh: args.fresh, version: packageVersion() },
      onStart: (seeds, values) => {
        expected = seeds.length * (VALUES_BESIDES + Math.ceil(Math.log2(values)));
        if (!quiet) {
          process.stderr.write(
            `seed ${seeds.join(', ')}: ${values} values to choose from, ${threads} threads\n`,
          );
        }
        progress = openProgress('plan', quiet);
      },
      onRun: (wasFinished) => {
        known++;
        if (wasFinished) reused++;
        progress?.update(Math.min(0.99, known / expected), `${known} runs`);
      },
    });
    progress?.stop();
    if (reused > 0 && !quiet)
      process.stderr.write(`${reused} runs were finished before, and not run again\n`);
    return plan;
  } finally {
    process.off('SIGINT', interrupted);
    progress?.stop();
  }
}
