import type { Argv } from 'yargs';
import { ciFlags, experimentFile, json, plugin, queueFlags, quiet } from '../common-options.js';
import { type ArgsOf, choice, group, list, text, textOr, toggle, whole } from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('file', experimentFile)
    .options({
      ...group('Search', {
        target: list("What must hold, e.g. 'attainment>=99.9%'; figures as for --threshold of simulate"),
        over: text(
          'Key and range, e.g. cluster.gpus=1:64, or workload.rate=100/s:5000/s:50/s with a step; with --minimize cost one for each kind of GPUs, with commas between them',
        ),
        minimize: choice(
          ['cost'],
          'Find the cheapest fleet of several kinds of GPUs, e.g. with --over cluster.gpus.v100=0:8,cluster.gpus.t4=0:16',
        ),
        prefer: choice(['low', 'high'], 'Which value is better, where the key does not imply it'),
        seeds: textOr('1,2,3', 'Seeds to repeat every value with'),
        set: list('Override another key at every value'),
        plugin,
      }),
      ...group('Execution', {
        threads: whole(1, 'Runs at the same time', 'one per core'),
        fresh: toggle('Run again what the folder already holds'),
      }),
      ...queueFlags,
      ...group('Output', {
        json,
        out: text('Write plan.json and plan.html to this folder; an interrupted plan resumes there'),
        html: text('Write the page with charts to this file'),
        quiet,
      }),
      ...ciFlags,
    })
    .example([
      ["$0 plan run.yaml --target 'attainment>=0.999' --over cluster.gpus=1:64", ''],
      ["$0 plan run.yaml --target 'p99<50ms' --over workload.rate=100/s:5000/s --set slo=50ms", ''],
      [
        "$0 plan run.yaml --target 'attainment>=0.99' --minimize cost --over cluster.gpus.v100=0:8,cluster.gpus.t4=0:16",
        '',
      ],
    ])
    .epilogue(
      [
        'Finds the fewest GPUs, the highest load, the tightest SLO, or the best value of another key. Latency counts every offered request; one not answered within its SLO counts as infinitely late. Without a ' +
          'step, whole numbers are searched in steps of 1 and others in steps of about 1 %. A value meets a target if the ' +
          'whole 95 % confidence interval of the mean over the seeds does. Exit code 3: no value meets it.',
        'With --minimize cost, fleets run from the cheapest on until one meets every target. Fleets with which no scheduler could meet a ' +
          'target on attainment, goodputRps or a percentile of latency are not run.',
      ].join('\n\n'),
    );

export type PlanArgs = ArgsOf<typeof builder>;

export const plan = {
  command: 'plan <file>',
  describe: 'Find the GPUs, load or SLO that just meet a target',
  builder,
};
